#pragma once

#include <vector>

#include "worker/gbdt/histogram.h"
#include "worker/gbdt/hyperparameters.h"
#include "worker/gbdt/quantile_cuts.h"
#include "worker/gbdt/row_partition.h"
#include "worker/gbdt/split.h"
#include "worker/gbdt/tree.h"

namespace winnow {

// Grows trees level by level from histograms; of two children the smaller one's is counted and the other's is
// the difference to the parent's. The tree is a function of the gradients: neither threads nor the order of
// rows matter.
class TreeBuilder {
 public:
  // Keeps references to all of them.
  TreeBuilder(const GbdtParameters& parameters, const std::vector<FeatureCuts>& cuts, const BinMatrix& matrix,
              ThreadPool* pool);

  // Grows tree number `tree_index` on the rows that `rows` holds in node 0. `rows` and each of `followers`
  // end with their rows in the leaves they belong to. Leaf values include eta.
  Tree Build(const FixedGradients& gradients, uint64_t tree_index, RowPartition* rows,
             const std::vector<RowPartition*>& followers);

 private:
  struct OpenNode {
    int id = 0;
    GradientSum total;
    std::vector<GradientSum> histogram;  // empty: to be counted when needed
    Split split;
  };

  bool MaySplit(const GradientSum& total, int64_t rows, int64_t depth) const;
  std::vector<int> FeaturesOf(uint64_t tree_index, int64_t depth);
  void CountHistograms(const FixedGradients& gradients, const RowPartition& rows,
                       const HistogramLayout& layout, const std::vector<OpenNode*>& nodes);
  void FindSplits(const FixedGradients& gradients, const RowPartition& rows, const HistogramLayout& layout,
                  uint64_t tree_index, int64_t depth, std::vector<OpenNode>* level);
  std::vector<OpenNode> NextLevel(const FixedGradients& gradients, const RowPartition& rows,
                                  const HistogramLayout& layout, const Tree& tree, int64_t depth,
                                  std::vector<OpenNode>* level);
  void MakeLeaf(const OpenNode& node, Tree* tree) const;
  std::vector<GradientSum> TakeBuffer(std::size_t size);

  const GbdtParameters& parameters_;
  const std::vector<FeatureCuts>& cuts_;
  const BinMatrix& matrix_;
  ThreadPool* const pool_;
  const GainRule rule_;
  GradientScale scale_;
  std::vector<int> tree_features_, level_features_;
  std::vector<std::vector<GradientSum>> spare_buffers_;
};

}  // namespace winnow
