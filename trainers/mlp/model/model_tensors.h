#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainers/mlp/model/model_file.h"
#include "trainers/mlp/model/safetensors.h"

namespace winnow::mlp {

// The network's parameters and statistics under ModelText's names, in its order, layer by layer.
std::vector<Tensor> ModelTensors(const Model& model);

// Moves the tensors of model->network from *tensors into model->state. InvalidArgument if one is missing, or
// has another shape, or a variance is negative. Memory grows with the tensors' size, not with the layers that
// the network declares.
absl::Status TakeModelTensors(std::map<std::string, TensorView>* tensors, Model* model);

}  // namespace winnow::mlp
