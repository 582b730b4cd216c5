#include "trainers/mlp/parallel/local_gradients.h"

#include <algorithm>
#include <cmath>

namespace winnow::mlp {

LocalGradients::LocalGradients(const TrainingContext& context, int64_t most_rows)
    : context_(context), work_(context, ChosenKernels(), most_rows), counts_(context.network.parameters) {}

absl::StatusOr<BatchSums> LocalGradients::Compute(std::span<const float> parameters,
                                                  std::span<float> statistics, std::span<const int64_t> rows,
                                                  int64_t step, std::span<float> gradient) {
  const Network& network = context_.network;
  const LocalBatch batch = PartOfBatch(context_, rows, 1, 0, 1, step);
  work_.RefreshAll(parameters.data());
  if (absl::Status status = work_.Propagate(parameters.data(), statistics, batch); !status.ok())
    return status;
  for (const float bound : work_.bounds()) {
    if (!std::isfinite(bound)) {
      const int64_t epoch_steps =
          std::max<int64_t>(1, context_.train.rows / std::max<int64_t>(1, batch.batch_rows));
      return DivergedError(context_.parameters, step / epoch_steps, step % epoch_steps);
    }
  }
  work_.Quantise(work_.bounds(), batch);
  work_.WeightCounts(work_.stack().tasks(), batch, 0, counts_.data());
  for (int l = 0; l < static_cast<int>(network.layers.size()); ++l)
    work_.OtherCounts(l, batch, counts_.data() + network.layers[l].bias);
  work_.Decode(0, network.parameters, counts_.data(), gradient.data());
  BatchSums sums;
  sums.rows = static_cast<int64_t>(rows.size());
  sums.correct = work_.correct();
  for (std::size_t r = 0; r < rows.size(); ++r) sums.loss += work_.losses()[r];
  return sums;
}

}  // namespace winnow::mlp
