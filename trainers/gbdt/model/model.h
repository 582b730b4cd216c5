#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/common/thread_pool.h"
#include "trainers/data/data_set.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/gbdt/tree/tree.h"

namespace winnow::gbdt {

// Everything that predictions from a raw file need.
struct Model {
  GbdtParameters parameters;
  DataOptions reading;  // how the training file was read
  DataSchema schema;
  std::vector<std::string> feature_names;
  std::vector<Tree> trees;          // by round; within a round by class; within a class its parallel trees
  std::vector<float> tree_weights;  // [tree] DART's factor of its leaves; empty: all 1
  int64_t best_round = -1;          // from 0, the best round of early stopping; -1: every round counts

  int64_t trees_per_round() const { return parameters.classes() * parameters.num_parallel_tree; }
  int64_t rounds() const { return static_cast<int64_t>(trees.size()) / trees_per_round(); }
  // The class to whose margins a tree adds.
  int class_of(int64_t tree) const {
    return static_cast<int>(tree % trees_per_round() / parameters.num_parallel_tree);
  }
  // The number of rounds used in predictions.
  int64_t used_rounds() const { return best_round < 0 ? rounds() : best_round + 1; }
};

// Returns margins [class][row] from the first `rounds` rounds for data with the model's features, bit-equal
// to those of training, which adds the trees in order. pool may be null.
std::vector<float> PredictMargins(const Model& model, const DataSet& data, int64_t rounds,
                                  ThreadPool* pool = nullptr);

// Returns the leaf of each row, [tree][row], in the trees of the first `rounds` rounds.
std::vector<int32_t> PredictLeaves(const Model& model, const DataSet& data, int64_t rounds,
                                   ThreadPool* pool = nullptr);

// Calls work(begin, end) for pieces of [0, rows) of at most `piece` rows, on the pool's threads or, if it is
// null, in the caller.
void ForRows(int64_t rows, int64_t piece, ThreadPool* pool,
             const std::function<void(int64_t begin, int64_t end)>& work);

enum class ImportanceKind { kWeight, kGain, kCover, kTotalGain, kTotalCover };

// Accepts XGBoost's names: weight, gain, cover, total_gain, total_cover. InvalidArgument for other names.
absl::StatusOr<ImportanceKind> ImportanceKindOf(const std::string& name);

struct Importance {
  int32_t feature = 0;
  double score = 0;
};

// XGBoost's get_score over all trees: the number of a feature's splits (weight), and the gains or hessian
// sums of these splits, average or total. Leaves out features without splits; the most important come first,
// equal ones in feature order.
std::vector<Importance> FeatureImportance(const Model& model, ImportanceKind kind);

}  // namespace winnow::gbdt
