#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/mlp/data/dense_data.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"
#include "trainers/mlp/network/crew.h"
#include "trainers/mlp/network/network.h"
#include "trainers/mlp/profile/profile.h"

namespace winnow::mlp {

// The context of one rank's training. All referents outlive the EpochTrainer.
struct TrainingContext {
  const MlpParameters& parameters;
  const Network& network;
  const DenseData& train;  // all rows, the same on every rank
  // `values`: the teacher's logits of train's rows; null without a teacher.
  const DenseData* teacher_outputs = nullptr;
  Communicator* ranks = nullptr;
  Crew* crew = nullptr;
  Profile* profile = nullptr;  // null: nothing is recorded
  const std::atomic<bool>* stop = nullptr;
};

// The results of one epoch's training, over all ranks.
struct EpochResult {
  double loss = 0;           // mean over the training rows, each before its step
  double accuracy = 0;       // for classes; otherwise NaN
  int64_t rows_seen = 0;     // rows whose loss was computed
  int64_t rows_trained = 0;  // rows whose gradient was computed
  int64_t steps = 0;
  uint64_t bytes_sent = 0;  // by all ranks
  std::vector<std::pair<std::string, double>>
      more;  // further metrics, as {"staleness-mean", 3.02}; rank 0's count
};

// A way in which ranks train together. All ranks make one, and call the same functions in the same order.
class EpochTrainer {
 public:
  virtual ~EpochTrainer() = default;

  // Trains one epoch (from 0). Cancelled if *stop became true on some rank during it; the state is then
  // useless. FailedPrecondition, on all ranks, if the loss or a gradient is not finite: "loss is nan at epoch
  // 3, step 17: ...". Other errors as the Communicator.
  virtual absl::StatusOr<EpochResult> Train(int64_t epoch) = 0;

  // The network's current state, for evaluation: parameters and batch norm's statistics, equal on every rank.
  // Valid between two calls of Train.
  virtual const NetworkState& state() const = 0;

  // All ranks call it between two calls of Train; rank 0's *state becomes the complete state for a
  // checkpoint, others' may be unchanged. *extra: further state of this way of training, or "".
  virtual absl::Status Collect(NetworkState* state, std::string* extra) = 0;

  // Called before this rank gives up for `reason`: reports it to ranks that wait by other means than the
  // Communicator and would otherwise only notice that it is gone.
  virtual void Fail(const absl::Status& /*reason*/) {}

  // Bytes of parameters, gradients and optimizer state on this rank.
  virtual uint64_t state_bytes() const = 0;
};

// FailedPrecondition: "loss is nan at epoch 3, step 17: the learning rate may be too high (learning_rate =
// 5)".
absl::Status DivergedError(const MlpParameters& parameters, int64_t epoch, int64_t epoch_step);

// Returns the trainer of parameters.distribution, continuing from `state` and `extra` (rank 0's, broadcast to
// all). InvalidArgument if the ranks or other hyperparameters do not allow it.
absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeEpochTrainer(const TrainingContext& context,
                                                               NetworkState state, std::string extra);

}  // namespace winnow::mlp
