#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/common/thread_pool.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/gbdt/model/model.h"
#include "trainers/gbdt/training_data.h"
#include "trainers/gbdt/training_input.h"
#include "trainers/gbdt/tree/fixed_gradients.h"
#include "trainers/gbdt/tree/row_partition.h"
#include "trainers/gbdt/tree/tree_builder.h"
#include "trainers/gbdt/tree_sums.h"

namespace winnow::gbdt {

// Boosting, round by round. The model is a function of the parameters and of all ranks' data. It depends
// neither on the number of ranks and threads, nor on where training was interrupted.
class Booster {
 public:
  // Keeps references to all arguments. REQUIRES: model->parameters are set, and the same on all ranks.
  Booster(const TrainingData& data, FeatureLimits limits, Model* model, Communicator* ranks,
          ThreadPool* pool);

  // Continues after model->trees, through which rows go by their values in `tables`, which must stay; without
  // tables by their bins: then the trees must have been grown from the data's cuts.
  void Start(const RawTables* tables = nullptr);

  // Adds one round to model->trees. An error is one of `ranks`.
  absl::Status TrainRound();

  // Returns names in the order of Evaluate's values: each metric on train, then each on validation
  // ("validation-auc").
  std::vector<std::string> MetricNames() const;
  absl::StatusOr<std::vector<float>> Evaluate();

 private:
  bool is_dart() const { return model_->parameters.booster == BoosterKind::kDart; }
  void DrawRows(uint64_t draw);
  void ComputeAllGradients(const std::vector<float>& margin);
  absl::Status RenewLeavesOf(int class_index, Tree* tree) const;
  // Grows a tree of one class, and adds it to the margins unless each round computes them again (DART).
  absl::StatusOr<Tree> TrainTree(uint64_t tree_index, int class_index);

  const TrainingData& data_;
  const FeatureLimits limits_;
  Model* const model_;
  Communicator& ranks_;
  ThreadPool* const pool_;
  TreeBuilder builder_;
  RowPartition drawn_, others_;
  std::optional<RowPartition> validation_rows_;
  TreeSums train_sums_;
  std::optional<TreeSums> validation_sums_;
  std::vector<float> margin_, validation_margin_;  // [class][row]
  std::vector<int64_t> gradient_blocks_;           // borders of blocks of rows with independent gradients
  std::vector<float> gradient_, hessian_;          // [class][row]
  const float* gradient_margin_ = nullptr;         // margins from which the round's gradients were computed
  FixedGradients fixed_;
  std::optional<double> mean_weight_;  // of groups, for ranking: from the first round on
};

}  // namespace winnow::gbdt
