#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// FailedPrecondition: "loss is nan at epoch 3, step 17: the learning rate may be too high (learning_rate =
// 5)".
absl::Status DivergedError(const MlpParameters& parameters, int64_t epoch, int64_t epoch_step);

}  // namespace winnow::mlp
