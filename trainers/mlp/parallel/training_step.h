#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/mlp/network/kernels.h"
#include "trainers/mlp/network/network.h"
#include "trainers/mlp/parallel/batch_work.h"
#include "trainers/mlp/parallel/epoch_trainer.h"

namespace winnow::mlp {

// A batch's update of the network, in the ways of training in which all ranks work on the same batch. All
// ranks call the same functions in the same order.
class TrainingStep {
 public:
  virtual ~TrainingStep() = default;

  // Trains on one batch, the same on all ranks. `epoch_step` counts the epoch's earlier batches, including
  // those that were sifted out; it determines the learning rate's schedule. Adds to *sums. FailedPrecondition
  // (DivergedError) if a number is not finite. Cancelled if some rank has to stop.
  virtual absl::Status Train(std::span<const int64_t> rows, int64_t epoch, int64_t epoch_step,
                             ShardSums* sums) = 0;

  // After an epoch's steps: makes state() what EpochTrainer::state() promises, and adds further metrics.
  virtual absl::Status EndEpoch(EpochResult* result) = 0;

  // Returns losses of rows, in order, on every rank: of the last training batch, or of others (at least one,
  // at most as many), without dropout.
  virtual absl::StatusOr<std::vector<float>> LastLosses() = 0;
  virtual absl::StatusOr<std::vector<float>> Losses(std::span<const int64_t> rows) = 0;

  virtual const NetworkState& state() const = 0;  // slots may be of this rank's piece
  // As EpochTrainer::Collect; *errors: the errors kept by compression, or "".
  virtual absl::Status Collect(NetworkState* state, std::string* errors) = 0;
  virtual absl::Status RestoreErrors(const std::string& errors) = 0;
  virtual void Fail(const absl::Status& /*reason*/) {}  // as EpochTrainer::Fail
  virtual uint64_t state_bytes() const = 0;
  virtual uint64_t bytes_sent() const = 0;  // by this rank
};

// Rows of one step, and the parts they are divided into.
struct BatchCut {
  int64_t rows = 0;
  int shards = 0;
};

inline int64_t StepsOf(int64_t rows, int64_t batch) { return (rows + batch - 1) / batch; }

// Returns this rank's kernels, chosen so that all ranks' results have the same bits: each rank's widest if
// those of all have fused multiply-add (and, for bf16, all or none multiply bf16 natively), otherwise the
// widest that all can run. All ranks call it.
absl::StatusOr<const Kernels*> AgreedKernels(Precision precision, Communicator* ranks);

// Why f32 is taken where bf16 is asked for, because it is faster: the network is small (a rule of its
// weights), or a rank's processor is not fast at bf16 (`fast`: this one's is). "" if bf16 is taken. The same
// on all ranks, which all call it.
absl::StatusOr<std::string> WhyNotBf16(const Network& network, bool fast, Communicator* ranks);

// Replaces each of the non-negative numbers by the maximum over all ranks. On all ranks: Cancelled if some
// rank has to stop, FailedPrecondition (DivergedError) if one is not finite.
absl::Status AgreeOnBounds(const TrainingContext& context, int64_t epoch, int64_t epoch_step,
                           std::span<float> bounds);

}  // namespace winnow::mlp
