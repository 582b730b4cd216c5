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
#include "trainers/gbdt/tree/fixed_gradients.h"
#include "trainers/gbdt/tree/row_partition.h"
#include "trainers/gbdt/tree/tree_builder.h"

namespace winnow::gbdt {

// DART (Rashmi and Gilad-Bachrach, "DART: Dropouts meet Multiple Additive Regression Trees", AISTATS 2015),
// with XGBoost's hyperparameters and weights. A round's gradients are those of the model without its dropped
// trees; afterwards dropped and new trees share the weight of the dropped ones.

// Returns the trees that `round` (from 0) drops, ascending; whether tree t is dropped is a function of the
// seed, the round and t. tree_weights: of all trees before the round. REQUIRES: booster=dart.
std::vector<int64_t> DroppedTrees(const GbdtParameters& parameters, int64_t round,
                                  const std::vector<float>& tree_weights);

// Appends the weights of a round's new trees (of all classes together) and adjusts those of the trees that it
// dropped (section 3 of the paper for normalize_type=tree).
void WeighNewTrees(const GbdtParameters& parameters, const std::vector<int64_t>& dropped, int64_t new_trees,
                   std::vector<float>* tree_weights);

// Margins [class][row] to which a model's trees are added.
struct StartMargins {
  std::vector<float> train, validation;
};

// Boosting, round by round. The model is a function of the parameters and of all ranks' data. It depends
// neither on the number of ranks and threads, nor on where training was interrupted.
class Booster {
 public:
  // Keeps references to all arguments. REQUIRES: model->parameters are set, and the same on all ranks.
  Booster(const TrainingData& data, FeatureLimits limits, Model* model, Communicator* ranks,
          ThreadPool* pool);

  // Continues after model->trees: from the given margins, or else from the trees, which must then have been
  // grown from the data's cuts.
  void Start(std::optional<StartMargins> margins = std::nullopt);

  // Adds one round to model->trees. An error is one of `ranks`.
  absl::Status TrainRound();

  // Returns names in the order of Evaluate's values: each metric on train, then each on validation
  // ("validation-auc").
  std::vector<std::string> MetricNames() const;
  absl::StatusOr<std::vector<float>> Evaluate();

 private:
  bool is_dart() const { return model_->parameters.booster == BoosterKind::kDart; }
  // The margins of the model's trees except `without` (ascending).
  std::vector<float> MarginsOf(const BinnedRows& rows, const std::vector<int64_t>& without) const;
  void AddLeaves(const Tree& tree, float weight, const RowPartition& rows, float* margin) const;
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
  std::vector<float> margin_, validation_margin_;  // [class][row]
  std::vector<int64_t> gradient_blocks_;           // borders of blocks of rows with independent gradients
  std::vector<float> gradient_, hessian_;          // [class][row]
  const float* gradient_margin_ = nullptr;         // margins from which the round's gradients were computed
  FixedGradients fixed_;
};

}  // namespace winnow::gbdt
