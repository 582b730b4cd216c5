#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/mlp/aligned.h"
#include "worker/mlp/background_calls.h"
#include "worker/mlp/batch_work.h"
#include "worker/mlp/compressed_sum.h"
#include "worker/mlp/epoch_trainer.h"
#include "worker/mlp/kernels.h"
#include "worker/mlp/parameter_update.h"

namespace winnow {

// A sum over the rows that all ranks have trained on, in parts whose sum over ranks is exact.
struct ShardSums {
  std::vector<double> losses, weights;  // of each shard of each step
  uint64_t correct = 0;                 // of this rank's rows
};

// Steps of ALL_REDUCE and ZERO (synchronous_trainer.h): the network and how a batch changes it.
class SynchronousStep {
 public:
  SynchronousStep(const TrainingContext& context, NetworkState state, const MlpKernels& kernels, int shards,
                  int64_t batch_rows);

  // Trains on one batch, of at most batch_rows rows, the same on all ranks. `epoch` and `epoch_step` are for
  // the error if it is not finite. Adds to *sums. Cancelled if some rank is told to stop.
  absl::Status Train(std::span<const int64_t> rows, int64_t epoch, int64_t epoch_step, ShardSums* sums);

  // Losses of a batch's rows, in order, on every rank: of the batch last trained on, or computed by `work`.
  absl::StatusOr<std::vector<float>> LastLosses() { return GatherLosses(work_); }
  absl::StatusOr<std::vector<float>> GatherLosses(const BatchWork& work);

  // This rank's part of a batch.
  LocalBatch MakeBatch(std::span<const int64_t> rows) const;

  const NetworkState& state() const { return state_; }  // of ZERO, slots are of this rank's piece
  // As EpochTrainer::Collect; *errors: what compression keeps, or "".
  absl::Status Collect(NetworkState* state, std::string* errors);
  absl::Status RestoreErrors(const std::string& errors);
  uint64_t state_bytes() const;

 private:
  // What is exchanged while others are computed: some panels of a layer; the last of a layer has its bias and
  // batch norm too.
  struct ExchangePart {
    int layer = 0;
    std::vector<GradientTask> tasks;
    std::size_t begin = 0, end = 0;  // of the flat array
    bool others = false;
  };

  bool partial() const { return zero_ && ranks_.size() > 1; }
  absl::Status AgreeOnBounds(int64_t epoch, int64_t epoch_step);
  void AddSums(const LocalBatch& batch, ShardSums* sums) const;
  void Fuse(const LocalBatch& batch, const StepRule& rule);
  absl::Status Exchange(const LocalBatch& batch, const StepRule& rule);
  void CountPart(const ExchangePart& part, const LocalBatch& batch);
  absl::Status SumPart(const ExchangePart& part);
  absl::Status SumCompressed();
  absl::Status Move(const StepRule& rule, std::size_t begin, std::size_t end);
  void Decode(std::size_t begin, std::size_t end);

  const TrainingContext& context_;
  const MlpParameters& parameters_;
  const Network& network_;
  Communicator& ranks_;
  Crew& crew_;
  const bool zero_;
  const int shards_;
  const int64_t epoch_steps_;
  NetworkState state_;
  BatchWork work_;
  ParameterUpdate update_;
  const std::vector<std::size_t> pieces_;
  std::vector<ExchangePart> parts_;
  std::vector<float> bounds_;
  Aligned<int32_t> counts_;  // flat array; empty where updates are fused with gradients
  Aligned<float> gradient_;
  std::vector<Aligned<int32_t>> thread_counts_;  // where they are
  std::vector<Aligned<float>> thread_gradient_;
  std::optional<BackgroundCalls> background_;
  std::optional<CompressedSum> compressed_;
};

inline int64_t StepsOf(int64_t rows, int64_t batch) { return (rows + batch - 1) / batch; }

}  // namespace winnow
