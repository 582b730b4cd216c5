#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/collective/messenger.h"
#include "trainers/mlp/network/kernels.h"
#include "trainers/mlp/network/parameter_update.h"
#include "trainers/mlp/parallel/batch_work.h"
#include "trainers/mlp/parallel/epoch_trainer.h"
#include "trainers/mlp/parallel/stage_replicas.h"
#include "trainers/mlp/parallel/training_step.h"

namespace winnow::mlp {

// A stage's pass over one micro-batch: forward, or backward through inputs.
struct StagePass {
  bool forward = true;
  int micro_batch = 0;
  bool operator==(const StagePass&) const = default;
};

// Returns the order in which stage `stage` of `stages` processes a batch's micro-batches: "one forward, one
// backward" (Narayanan et al. 2019, PipeDream; 2021, section 2.2.1). Forward passes until the first
// micro-batch can come back from the last stage, then alternating, then the remaining backward passes. A
// stage has at most stages - stage unfinished micro-batches.
std::vector<StagePass> OneForwardOneBackward(int stage, int stages, int micro_batches);

// The distribution of layers and rows: rank stage * replicas + replica has the layers [layer_begins[stage],
// layer_begins[stage + 1]) and the replica's part of a batch.
struct PipelineLayout {
  std::vector<int> layer_begins;  // [stages + 1]
  int replicas = 1;
  int micro_batches = 0;  // of a replica's part; 0: one per virtual shard

  int stages() const { return static_cast<int>(layer_begins.size()) - 1; }
};

// Steps of PIPELINE (pipeline_trainer.h), with two stages or more.
class PipelineStep final : public TrainingStep {
 public:
  PipelineStep(const TrainingContext& context, NetworkState state, const Kernels& kernels,
               const BatchCut& cut, PipelineLayout layout, std::unique_ptr<Messenger> messenger);

  absl::Status Train(std::span<const int64_t> rows, int64_t epoch, int64_t epoch_step,
                     ShardSums* sums) override;
  absl::Status EndEpoch(EpochResult* result) override;
  absl::StatusOr<std::vector<float>> LastLosses() override;
  absl::StatusOr<std::vector<float>> Losses(std::span<const int64_t> rows) override;
  // Has slots for this rank's piece and, between EndEpochs, parameters for the stage's layers.
  const NetworkState& state() const override { return state_; }
  absl::Status Collect(NetworkState* state, std::string* errors) override;
  absl::Status RestoreErrors(const std::string&) override { return absl::OkStatus(); }
  void Fail(const absl::Status& reason) override { messenger_->Fail(reason); }
  uint64_t state_bytes() const override;
  uint64_t bytes_sent() const override { return messenger_->bytes_sent() + ranks_.bytes_sent(); }

 private:
  using Clock = std::chrono::steady_clock;
  // Adds its lifetime to the time in which this rank waits for others.
  class Wait;

  bool is_first() const { return stage_ == 0; }
  bool is_last() const { return stage_ + 1 == layout_.stages(); }
  LocalBatch MakeBatch(std::span<const int64_t> rows) const {
    return PartOfBatch(context_, rows, shards_, replica_, layout_.replicas, state_.step);
  }
  int MicroBatches(const LocalBatch& batch) const;
  Part RowsOf(const LocalBatch& batch, int micro_batch) const;

  absl::Status TrainStep(std::span<const int64_t> rows, int64_t epoch, int64_t epoch_step, ShardSums* sums);
  absl::Status ForwardPass(const LocalBatch& batch, const Part& rows);
  absl::Status BackwardPass(const LocalBatch& batch, const Part& rows);
  absl::Status SendRows(int to, StageTag tag, const Matrix& matrix, const Part& rows);
  absl::Status ReceiveRows(int from, StageTag tag, const Part& rows, Matrix* matrix);

  void CountLayer(int l, const LocalBatch& batch);
  absl::Status AddLayer(int l);
  absl::Status SumCounts(const LocalBatch& batch);
  absl::Status Move(const StepRule& rule);
  std::span<int32_t> CountsOf(int l);
  absl::Status Ended(absl::Status status);

  const TrainingContext& context_;
  const Network& network_;
  Communicator& ranks_;
  const PipelineLayout layout_;
  const int shards_;
  const int64_t epoch_steps_;
  const int stage_, replica_;
  const std::unique_ptr<Messenger> messenger_;
  NetworkState state_;
  ParameterUpdate update_;
  const std::vector<std::size_t> pieces_;  // of all ranks, in order of rank and of the flat array
  StageReplicas replicas_;
  BatchWork work_;
  std::vector<float> bounds_;
  Aligned<int32_t> counts_;                // of the stage's layers
  Aligned<float> gradient_;                // of the own piece
  std::vector<float> rows_;                // to send
  Clock::duration waited_{0}, worked_{0};  // of the epoch's steps
};

}  // namespace winnow::mlp
