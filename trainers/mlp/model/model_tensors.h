#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainers/mlp/model/model_file.h"
#include "trainers/mlp/model/safetensors.h"

namespace winnow::mlp {

// The network's parameters and statistics as ModelText names and orders them, layer after layer.
std::vector<Tensor> ModelTensors(const Model& model);

// Takes the tensors of model->network out of *tensors, into model->state. InvalidArgument where one is
// missing, or has another shape, or a variance is negative. The memory taken grows with the tensors' size,
// whatever layers the network speaks of.
absl::Status TakeModelTensors(std::map<std::string, TensorView>* tensors, Model* model);

}  // namespace winnow::mlp
