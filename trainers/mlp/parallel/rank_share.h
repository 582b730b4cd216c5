#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/mlp/network/network.h"
#include "trainers/mlp/parallel/epoch_trainer.h"
#include "trainers/mlp/parallel/local_gradients.h"

namespace winnow::mlp {

// What a rank does with a share of its own, in the ways of training in which ranks are not in step.

// Its rows: 1/ranks of them, in order of rank.
Part ShareOf(const TrainingContext& context);

// The same in the order that it trains in: a function of (seed, rank, epoch).
std::vector<int64_t> ShareOrder(const TrainingContext& context, int64_t epoch);

// What every such way refuses: sifting, and synchronised batch norm over several ranks. InvalidArgument.
absl::Status CheckShare(const TrainingContext& context);

// Makes the gradient's norm at most `most`; 0: any.
void ClipToNorm(std::span<float> gradient, double most);

// A run of a network's flat array to which weight decay applies as a whole, or not at all.
struct DecayRun {
  std::size_t begin = 0, end = 0;
  bool decays = false;  // weights; not biases and batch norm
};
// Those of [begin, end), in order. REQUIRES: multiples of 16.
std::vector<DecayRun> DecayRuns(const Network& network, std::size_t begin, std::size_t end);

// A LocalGradients' error: one of a loss that is not finite as DivergedError of this step of the epoch.
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
