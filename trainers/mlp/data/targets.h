#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/mlp/data/dense_data.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// Outputs of a network that learns the labels of `train`: of cross entropy num_class, or as many as there are
// classes in the labels; else 1. InvalidArgument, beginning with `path`, for a label or weight that the loss
// does not take.
absl::StatusOr<int> OutputsFor(const MlpParameters& parameters, const FeatureSchema& schema,
                               const DenseData& train, const std::string& path);

// InvalidArgument, beginning with `path`, unless labels and weights are such as `outputs` can be measured by.
absl::Status CheckTargets(const MlpParameters& parameters, int outputs, const DenseData& data,
                          const std::string& path);

}  // namespace winnow::mlp
