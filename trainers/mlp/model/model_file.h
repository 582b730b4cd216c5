#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"
#include "trainers/mlp/data/dense_data.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"
#include "trainers/mlp/network/network.h"

namespace winnow::mlp {

// Everything that prediction needs, raw file to answer.
struct Model {
  MlpParameters parameters;
  DataOptions reading;  // how the training file was read
  FeatureSchema schema;
  Network network;
  NetworkState state;  // parameters and statistics; slots are empty
};

// Returns a model in safetensors, the same bytes for the same model. Tensors are f32 with the layout of the
// state_dict of PyTorch's nn.Sequential, so that weights are [output][input] without padding:
//   layers.0.weight, layers.0.bias, and for batch norm layers.0.batch_norm.weight, .bias, .running_mean,
//   .running_var; then layers.1.weight and so on.
// Metadata: "format" = "winnow-mlp", "version", and as JSON "hyperparameters", "reading" and "schema".
std::string ModelText(const Model& model);

// What ModelText wrote. InvalidArgument names the tensor, or the part of the header, that is wrong in any
// other text, and what is missing where the weights are another program's.
absl::StatusOr<Model> ParseModel(std::string_view text);

// The same of files; errors name the file.
absl::StatusOr<Model> ReadModel(const std::string& path);
absl::Status WriteModel(const std::string& path, const Model& model);

// A model in ONNX, operator set 13, the same bytes for the same model. Input "features" [rows, features],
// float, of any number of rows, as the data have them: bytes from 0 to 255; a table's columns, missing ones
// NaN, text columns as 0 and 1 for each level. Outputs, of classes: "logits" [rows, outputs], which is what
// the last layer gives, and "probabilities" of the same shape (under the logistic loss of class 1); of
// targets: "values" [rows, 1].
std::string OnnxText(const Model& model);
absl::Status WriteOnnx(const std::string& path, const Model& model);

}  // namespace winnow::mlp
