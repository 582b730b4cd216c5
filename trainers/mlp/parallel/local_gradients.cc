#include "trainers/mlp/parallel/local_gradients.h"

#include <cmath>
#include <optional>

#include "trainers/mlp/network/batch_order.h"
#include "trainers/mlp/network/row_math.h"
#include "trainers/mlp/parallel/batch_work.h"
#include "trainers/mlp/parallel/diverged.h"

namespace winnow::mlp {

class LocalGradients::Impl {
 public:
  Impl(const TrainingContext& context, int64_t most_rows)
      : context_(context),
        work_(context, ChosenMlpKernels(), most_rows),
        counts_(context.network.parameters) {}

  absl::StatusOr<BatchSums> Compute(std::span<const float> parameters, std::span<float> statistics,
                                    std::span<const int64_t> rows, int64_t step, std::span<float> gradient);

 private:
  const TrainingContext& context_;
  BatchWork work_;
  Aligned<int32_t> counts_;
};

absl::StatusOr<BatchSums> LocalGradients::Impl::Compute(std::span<const float> parameters,
                                                        std::span<float> statistics,
                                                        std::span<const int64_t> rows, int64_t step,
                                                        std::span<float> gradient) {
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
  work_.ForTasks([&](int, const GradientTask& task) {
    const Layer& layer = network.layers[task.layer];
    work_.WeightCounts(task, batch,
                       counts_.data() + layer.WeightAt(task.first_input, task.first_panel * kPanel),
                       static_cast<std::size_t>(layer.inputs) * kPanel);
  });
  for (int l = 0; l < static_cast<int>(network.layers.size()); ++l) {
    const Layer& layer = network.layers[l];
    work_.OtherCounts(l, batch, counts_.data() + layer.bias);
    const std::size_t norm = layer.bias + static_cast<std::size_t>(layer.padded());
    CountsToFloats(counts_.data() + layer.begin(), std::ldexp(1.0f, -work_.exponent(l)), norm - layer.begin(),
                   gradient.data() + layer.begin());
    CountsToFloats(counts_.data() + norm, std::ldexp(1.0f, -work_.norm_exponent(l)), layer.end - norm,
                   gradient.data() + norm);
  }
  BatchSums sums;
  sums.rows = static_cast<int64_t>(rows.size());
  sums.correct = work_.correct();
  for (std::size_t r = 0; r < rows.size(); ++r) sums.loss += work_.losses()[r];
  return sums;
}

LocalGradients::LocalGradients(const TrainingContext& context, int64_t most_rows)
    : impl_(std::make_unique<Impl>(context, most_rows)) {}

LocalGradients::~LocalGradients() = default;

absl::StatusOr<BatchSums> LocalGradients::Compute(std::span<const float> parameters,
                                                  std::span<float> statistics, std::span<const int64_t> rows,
                                                  int64_t step, std::span<float> gradient) {
  return impl_->Compute(parameters, statistics, rows, step, gradient);
}

}  // namespace winnow::mlp
