#pragma once

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "trainers/mlp/parallel/batch_work.h"
#include "trainers/mlp/parallel/epoch_trainer.h"

namespace winnow::mlp {

// Sums over the rows of one batch.
struct BatchSums {
  double loss = 0;
  int64_t correct = 0;  // for classes
  int64_t rows = 0;
};

// The forward and backward pass of a single rank, for the ways of training in which ranks are not in step.
class LocalGradients {
 public:
  // For batches of up to `most_rows`.
  LocalGradients(const TrainingContext& context, int64_t most_rows);

  // Sets gradient[network.parameters] to the mean gradient of `rows` (numbers of context.train's) at
  // `parameters`, without weight decay; updates `statistics` (batch norm's, may be empty) as a step does.
  // `step` draws the dropout. FailedPrecondition if the loss is not finite.
  absl::StatusOr<BatchSums> Compute(std::span<const float> parameters, std::span<float> statistics,
                                    std::span<const int64_t> rows, int64_t step, std::span<float> gradient);

 private:
  const TrainingContext& context_;
  BatchWork work_;
  Aligned<int32_t> counts_;
};

}  // namespace winnow::mlp
