#pragma once

#include <cstdint>
#include <vector>

#include "trainers/common/thread_pool.h"
#include "trainers/data/data_set.h"
#include "trainers/gbdt/model/model.h"
#include "trainers/gbdt/training_data.h"
#include "trainers/gbdt/tree/row_partition.h"

namespace winnow::gbdt {

int64_t LeavesOf(const Tree& tree);

// Adds `weight` times the value of each row's leaf to margin[row]; `rows` are divided among the tree's nodes.
void AddLeaves(const Tree& tree, float weight, const RowPartition& rows, ThreadPool* pool, float* margin);

// The margins of rows, summed over a model's trees, which were grown from the same cuts. DART sums them again
// each round with other weights: the leaf of each row in each tree is kept for that, in one or two bytes.
class TreeSums {
 public:
  // Keeps references to all arguments. Trees are only appended to the model. most_bytes: for the leaves that
  // are kept; those of later trees are found again at each sum.
  TreeSums(const Model& model, const std::vector<FeatureCuts>& cuts, const BinnedRows& rows, ThreadPool* pool,
           int64_t most_bytes);

  // The trees that the model has by now need not have been grown from the cuts: rows go through them by
  // `values`, the same rows in raw form, which must stay. REQUIRES: no sums were made.
  void FollowValues(const DataSet& values);

  // Returns margins [class][row] from all trees except `without` (ascending), added in the trees' order.
  std::vector<float> Margins(const std::vector<int64_t>& without = {});

 private:
  // A tree's leaf of each row, counted in the order of its nodes; in `narrow` where that fits.
  struct Leaves {
    std::vector<uint8_t> narrow;
    std::vector<uint16_t> wide;
  };

  bool FollowsValues(int64_t tree) const { return tree < value_trees_; }
  void Divide(const Tree& tree, RowPartition* partition) const;
  // The node of each row's leaf, by its values.
  std::vector<int32_t> NodesByValues(const Tree& tree) const;
  // Keeps the leaves of the model's next tree, unless that takes too much memory.
  bool KeepNext(RowPartition* partition);
  void AddKept(const std::vector<int64_t>& without, float* margin) const;
  float WeightOf(int64_t tree) const {
    return model_.tree_weights.empty() ? 1.0f : model_.tree_weights[tree];
  }

  const Model& model_;
  const std::vector<FeatureCuts>& cuts_;
  const BinnedRows& rows_;
  ThreadPool* const pool_;
  std::vector<Leaves> kept_;  // of the model's first trees
  int64_t bytes_left_;
  const DataSet* values_ = nullptr;
  int64_t value_trees_ = 0;  // of the model's first trees, those that follow values_
};

}  // namespace winnow::gbdt
