#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/mlp/data/dense_data.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// Returns the number of outputs of a network that learns the labels of `train`: for cross entropy num_class,
// or the number of classes in the labels; otherwise 1. InvalidArgument, beginning with `path`, for a label or
// weight that the loss does not allow.
absl::StatusOr<int> OutputsFor(const MlpParameters& parameters, const FeatureSchema& schema,
                               const DenseData& train, const std::string& path);

// InvalidArgument, beginning with `path`, if labels or weights are not valid for `outputs`.
absl::Status CheckTargets(const MlpParameters& parameters, int outputs, const DenseData& data,
                          const std::string& path);

}  // namespace winnow::mlp
