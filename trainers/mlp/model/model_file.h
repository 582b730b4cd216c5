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

// Everything that predictions from a raw file need.
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

// Parses the output of ModelText. For other texts, InvalidArgument names the wrong tensor or part of the
// header, or what another program's weights lack.
absl::StatusOr<Model> ParseModel(std::string_view text);

// Read and write files; errors name the file.
absl::StatusOr<Model> ReadModel(const std::string& path);
absl::Status WriteModel(const std::string& path, const Model& model);

// Returns a model in ONNX, operator set 13, the same bytes for the same model. Input "features" [rows,
// features], float, for any number of rows, unscaled: bytes from 0 to 255; a table's columns, missing values
// NaN, text columns as 0 and 1 for each level. Outputs for classes: "logits" [rows, outputs] of the last
// layer, and "probabilities" of the same shape (for the logistic loss, of class 1); for regression: "values"
// [rows, 1].
std::string OnnxText(const Model& model);
absl::Status WriteOnnx(const std::string& path, const Model& model);

}  // namespace winnow::mlp
