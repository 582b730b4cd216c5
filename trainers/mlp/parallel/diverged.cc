#include "trainers/mlp/parallel/diverged.h"

#include <fmt/format.h>

namespace winnow::mlp {

absl::Status DivergedError(const MlpParameters& parameters, int64_t epoch, int64_t epoch_step) {
  return absl::FailedPreconditionError(
      fmt::format("loss is nan at epoch {}, step {}: the learning rate may be too high (learning_rate = {})",
                  epoch, epoch_step, parameters.learning_rate));
}

}  // namespace winnow::mlp
