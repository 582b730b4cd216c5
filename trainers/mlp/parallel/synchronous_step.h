#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/task_threads.h"
#include "trainers/mlp/network/evaluator.h"
#include "trainers/mlp/network/kernels.h"
#include "trainers/mlp/network/parameter_update.h"
#include "trainers/mlp/parallel/batch_work.h"
#include "trainers/mlp/parallel/compressed_sum.h"
#include "trainers/mlp/parallel/epoch_trainer.h"
#include "trainers/mlp/parallel/training_step.h"

namespace winnow::mlp {

// Runs calls in order on its own thread, so that the caller can continue: one part of a gradient is exchanged
// while the next is computed.
class BackgroundCalls {
 public:
  // Waits for the call under way; what is still queued is not called.
  ~BackgroundCalls() { thread_.Stop(); }

  // After a call has failed, later ones are skipped.
  void Post(std::function<absl::Status()> call);

  // Waits until all posted calls have run; returns the first error and clears it.
  absl::Status Wait();

 private:
  void Run(const std::function<absl::Status()>& call);

  Mutex mutex_;
  CondVar done_;
  int left_ ABSL_GUARDED_BY(mutex_) = 0;  // posted and not yet called
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  TaskThreads thread_;
};

// Steps of ALL_REDUCE and ZERO (synchronous_trainer.h). With ZERO, slots are of a rank's piece.
class SynchronousStep final : public TrainingStep {
 public:
  SynchronousStep(const TrainingContext& context, NetworkState state, const Kernels& kernels,
                  const BatchCut& cut);

  absl::Status Train(std::span<const int64_t> rows, int64_t epoch, int64_t epoch_step,
                     ShardSums* sums) override;
  absl::Status EndEpoch(EpochResult* result) override;
  absl::StatusOr<std::vector<float>> LastLosses() override { return GatherFloats(work_.losses(), &ranks_); }
  absl::StatusOr<std::vector<float>> Losses(std::span<const int64_t> rows) override;
  const NetworkState& state() const override { return state_; }
  absl::Status Collect(NetworkState* state, std::string* errors) override;
  absl::Status RestoreErrors(const std::string& errors) override;
  uint64_t state_bytes() const override;
  uint64_t bytes_sent() const override { return ranks_.bytes_sent(); }

 private:
  // A part exchanged while others are computed: some panels of a layer; the last part of a layer includes its
  // bias and batch norm.
  struct ExchangePart {
    int layer = 0;
    std::vector<GradientTask> tasks;
    std::size_t begin = 0, end = 0;  // of the flat array
    bool others = false;
  };

  bool partial() const { return zero_ && ranks_.size() > 1; }
  LocalBatch MakeBatch(std::span<const int64_t> rows) const {
    return PartOfBatch(context_, rows, shards_, ranks_.rank(), ranks_.size(), state_.step);
  }
  void Fuse(const LocalBatch& batch, const StepRule& rule);
  absl::Status Exchange(const LocalBatch& batch, const StepRule& rule);
  void CountPart(const ExchangePart& part, const LocalBatch& batch);
  absl::Status SumPart(const ExchangePart& part);
  absl::Status SumCompressed();
  void NoteNorm(std::span<const double> squares);
  absl::Status AverageStatistics();
  absl::Status Move(const StepRule& rule, std::size_t begin, std::size_t end);
  void Decode(std::size_t begin, std::size_t end);

  const TrainingContext& context_;
  const MlpParameters& parameters_;
  const Network& network_;
  Communicator& ranks_;
  Crew& crew_;
  const Kernels& kernels_;
  const bool zero_;
  const int shards_;
  const int64_t epoch_steps_;
  NetworkState state_;
  BatchWork work_;
  std::optional<BatchWork> scout_;  // for losses of rows that are not trained on
  ParameterUpdate update_;
  const std::vector<std::size_t> pieces_;
  std::vector<ExchangePart> parts_;
  std::vector<float> bounds_;
  Aligned<int32_t> counts_;  // flat array; empty if updates are fused with gradients
  Aligned<float> gradient_;
  std::vector<Aligned<int32_t>> thread_counts_;  // if they are fused
  std::vector<Aligned<float>> thread_gradient_;
  std::vector<double> thread_squares_;  // with a profile: of the gradient, by thread
  std::optional<BackgroundCalls> background_;
  std::optional<CompressedSum> compressed_;
};

}  // namespace winnow::mlp
