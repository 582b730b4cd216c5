#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/mlp/network/batch_norm.h"
#include "trainers/mlp/network/layer_stack.h"
#include "trainers/mlp/network/loss_rows.h"
#include "trainers/mlp/parallel/epoch_trainer.h"

namespace winnow::mlp {

// Records which units of ReLU layers have been above 0 for any row of this rank: the others no longer learn.
class DeadUnits {
 public:
  explicit DeadUnits(const Network& network);

  // Called after the forward pass of rows [0, rows).
  void Look(LayerStack& stack, int64_t rows);

  // Fraction of all observed hidden units that were never above 0 since the last Forget; 0 before any Look.
  double Share() const;
  void Forget();

 private:
  std::vector<std::vector<uint8_t>>
      alive_;  // [layer][unit]; empty if the stack lacks the layer's outputs
};

// This rank's rows of one step: consecutive whole virtual shards of the batch.
struct LocalBatch {
  std::span<const int64_t> rows;  // row numbers in the data
  std::vector<int> begins;        // shard s of these is rows [begins[s], begins[s + 1])
  Pass pass;
  double weight_sum = 1;   // over all rows of the batch, of all ranks
  int64_t batch_rows = 0;  // over all ranks
};

// Returns part `taker` of `takers` of a batch that is cut into `shards` shards, for step `step`.
LocalBatch PartOfBatch(const TrainingContext& context, std::span<const int64_t> rows, int shards, int taker,
                       int takers, int64_t step);

// A sum over the rows that all ranks have trained on, in parts with an exact sum over ranks.
struct ShardSums {
  // Sums over the rows of each shard of each step: of the losses times the weights, of the weights, and of
  // the weights of right rows, for classes.
  std::vector<double> losses, weights, right;
};

// A rank's own part of one step: from row numbers to the gradients of its shards, in integers.
class BatchWork {
 public:
  BatchWork(const TrainingContext& context, const Kernels& kernels, int64_t capacity);
  // For the layers [first, last) only. REQUIRES: no batch norm.
  BatchWork(const TrainingContext& context, const Kernels& kernels, int64_t capacity, int first, int last);

  // Forward and backward pass. losses(), is_right() and bounds() return the results. With synchronised batch
  // norm, ranks communicate; updates `statistics`.
  absl::Status Propagate(const float* parameters, std::span<float> statistics, const LocalBatch& batch);

  // Propagate in parts; each row goes through each once: Begin; Forward and, later, Backward of rows [begin,
  // end), begin even; Finish. Without the network's first layer, the caller sets inputs(first()) before
  // Forward; without its last, the gradient of outputs() in delta(last() - 1) before Backward. REQUIRES: no
  // batch norm.
  void Begin(const float* parameters, const LocalBatch& batch);
  void Forward(const float* parameters, const LocalBatch& batch, int64_t begin, int64_t end);
  void Backward(const LocalBatch& batch, int64_t begin, int64_t end);
  void Finish();

  // Forward pass only, without dropout: sets losses() of `rows`.
  void Losses(const float* parameters, std::span<const float> statistics, std::span<const int64_t> rows);

  std::span<const float> losses() const { return {losses_.data(), rows_}; }  // of each row, not weighted
  // Whether the row's own class is ranked first; for classes only. REQUIRES: row < losses().size().
  bool is_right(std::size_t row) const { return before_[row] == 0; }
  // Adds the results of `batch`. REQUIRES: the network's last layer is included.
  void AddSums(const LocalBatch& batch, ShardSums* sums) const;

  // The largest magnitudes: of each layer's inputs (at least 1), then of each layer's deltas, then of each
  // layer's terms of the gradients of gamma and beta. Not finite if one value is not. The maximum of each
  // entry over all ranks depends on the rows alone, not on their distribution.
  std::span<float> bounds() { return bounds_; }

  // Sets the integers' scales from bounds that hold for all ranks. A layer's counts are gradients times
  // 2^exponent(l).
  void Quantise(std::span<const float> bounds, const LocalBatch& batch);
  int exponent(int l) const { return exponents_[l]; }

  // Units unused by the rows of Propagate since the last query; observed if there is a profile.
  DeadUnits& dead_units() { return dead_units_; }

  // Calls work for each of these parts of the weights, on all threads.
  void ForTasks(std::span<const GradientTask> tasks,
                const std::function<void(int thread, const GradientTask& task)>& work);
  // Computes the counts of these parts of the weights at their positions in the flat array; counts[0] is
  // entry `first`.
  void WeightCounts(std::span<const GradientTask> tasks, const LocalBatch& batch, std::size_t first,
                    int32_t* counts);
  // Computes all counts of a layer but its weights': bias, and with batch norm gamma and beta.
  // counts[layer.end - layer.bias]. Sums already over all shards (batch norm's) are in rank 0's only.
  void OtherCounts(int l, const LocalBatch& batch, int32_t* counts) const;
  // Converts the counts of the flat array's entries [begin, end) to gradients; counts[0] and gradient[0] are
  // entry `begin`.
  void Decode(std::size_t begin, std::size_t end, const int32_t* counts, float* gradient) const;

  LayerStack& stack() { return stack_; }
  // Call it when parameters were changed other than by this object's user through stack().
  void RefreshAll(const float* parameters);

 private:
  void ForRows(int64_t first, int64_t last,
               const std::function<void(int64_t begin, int64_t end, int thread)>& work);
  bool has_loss() const { return stack_.last() == static_cast<int>(network_.layers.size()); }
  void LoadRows(const LocalBatch& batch, int64_t begin, int64_t end);
  void ForwardRows(const float* parameters, const LocalBatch& batch, int64_t begin, int64_t end, int thread);
  void BackwardRows(const LocalBatch& batch, int64_t begin, int64_t end, int thread);
  // Only thread 0 is recorded; all threads do the same.
  Profile* ProfileOf(int thread) const { return thread == 0 ? context_.profile : nullptr; }
  absl::Status PropagateNormalised(const float* parameters, std::span<float> statistics,
                                   const LocalBatch& batch);
  void Measure(int64_t begin, int64_t end, int thread);
  void GatherLabels(std::span<const int64_t> rows, int64_t begin, int64_t end);
  void LossOf(const LocalBatch& batch, int64_t begin, int64_t end);

  const TrainingContext& context_;
  const Network& network_;
  LayerStack stack_;
  BatchNormLayers batch_norm_;
  const LossRule rule_;
  std::vector<float> label_, weight_, losses_;
  std::vector<int32_t> before_;
  Matrix teacher_;
  std::vector<float> bounds_;
  std::vector<int> exponents_;
  std::vector<std::vector<float>> thread_bounds_;  // [thread][2 * layers]
  DeadUnits dead_units_;                           // with a profile
  std::size_t rows_ = 0;
};

}  // namespace winnow::mlp
