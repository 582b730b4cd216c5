#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/mlp/network/network.h"
#include "trainers/mlp/parallel/batch_work.h"
#include "trainers/mlp/parallel/epoch_trainer.h"

// A rank's work on its own share, in the ways of training in which ranks are not in step.
namespace winnow::mlp {

// Sums over the rows of one batch.
struct BatchSums {
  double loss = 0;  // each row's times its weight
  double weight = 0;
  double right = 0;  // the weights of the right rows, for classes
  int64_t rows = 0;
};

// The forward and backward pass of a single rank.
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

// Returns its rows: 1/ranks of them, in order of rank.
Part ShareOf(const TrainingContext& context);

// Returns its rows in training order: a function of (seed, rank, epoch).
std::vector<int64_t> ShareOrder(const TrainingContext& context, int64_t epoch);

// InvalidArgument for what no such way supports: sifting, and synchronised batch norm over several ranks.
absl::Status CheckShare(const TrainingContext& context);

// Scales the gradient to a norm of at most `most`; 0: unlimited.
void ClipToNorm(std::span<float> gradient, double most);

// A run of a network's flat array with or without weight decay.
struct DecayRun {
  std::size_t begin = 0, end = 0;
  bool decays = false;  // weights; not biases and batch norm
};
// Returns those of [begin, end), in order. REQUIRES: multiples of 16.
std::vector<DecayRun> DecayRuns(const Network& network, std::size_t begin, std::size_t end);

// Converts a LocalGradients' error: a loss that is not finite becomes DivergedError of this step of the
// epoch.
absl::Status AtStep(const absl::Status& status, const MlpParameters& parameters, int64_t epoch, int64_t step);

// FailedPrecondition if a parameter is not finite.
absl::Status CheckFinite(const NetworkState& state, int64_t epoch);

// One rank's part of an EpochResult.
struct ShareTotals {
  BatchSums sums;
  int64_t steps = 0;
  uint64_t bytes_sent = 0;
  int64_t staleness_sum = 0, staleness_most = 0, pushes = 0;

  void Add(const BatchSums& batch);
};
// Sums over ranks, in order of rank; staleness_most: the largest.
absl::StatusOr<ShareTotals> AddOverRanks(const ShareTotals& own, Communicator* ranks);

// `more` is empty.
EpochResult ResultOf(const ShareTotals& totals, const MlpParameters& parameters);

}  // namespace winnow::mlp
