#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/gbdt/bins/bin_layout.h"
#include "trainers/gbdt/bins/quantile_cuts.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/gbdt/tree/histogram.h"
#include "trainers/gbdt/tree/histogram_exchange.h"
#include "trainers/gbdt/tree/row_partition.h"
#include "trainers/gbdt/tree/split_finder.h"
#include "trainers/gbdt/tree/tree.h"

namespace winnow::gbdt {

// Returns the feature's bins that a split sends left: [bin], 1 if left, the last for missing values.
// REQUIRES: the tree was grown from these cuts.
inline std::vector<uint8_t> LeftBins(const Tree& tree, const Tree::Node& node, const FeatureCuts& cuts) {
  std::vector<uint8_t> left(ValueBins(cuts) + 1, 0);
  if (node.categorical) {
    for (std::size_t bin = 0; bin < cuts.categories.size(); ++bin)
      left[bin] = tree.GoesLeft(node, static_cast<float>(cuts.categories[bin]));
    left[cuts.bins()] = 1;
  } else {
    // Bin b's values are at or above thresholds[b - 1].
    const auto from = std::lower_bound(cuts.thresholds.begin(), cuts.thresholds.end(), node.threshold);
    // A feature of one value has no threshold: all of it goes left, or only missing values do.
    const float first = cuts.thresholds.empty() ? std::numeric_limits<float>::max() : cuts.thresholds.front();
    const bool none = node.threshold < first;
    if (!none) std::fill(left.begin(), left.begin() + (from - cuts.thresholds.begin()) + 1, 1);
  }
  left.back() = node.missing_left;
  return left;
}

// Constraints on the features that may split a node and on the direction of their effect. Features by number.
struct FeatureLimits {
  std::vector<int> directions;                // monotone: -1, 0 or 1 for each feature; empty: none
  std::vector<std::vector<int>> interaction;  // groups, each ascending; empty: no constraint

  // Returns 1 for each of `features` features that may follow those of `path` (in any order), as XGBoost's
  // FeatureInteractionConstraintHost: those on the path, and those of every group that contains the path.
  std::vector<uint8_t> Allowed(const std::vector<int>& path, std::size_t features) const;
};

// Grows trees from histograms, level by level or the best leaf first. Of two children it counts the smaller
// one's rows and subtracts for the other. The tree is a function of all ranks' gradients, independent of
// ranks, threads and the order of rows.
class TreeBuilder {
 public:
  static constexpr std::size_t kHistogramBudget = std::size_t{1} << 26;  // words: 512 MiB

  // Keeps references to all arguments. The rows of `matrix` are this rank's. Histograms of open nodes are
  // kept while they take no more than `histogram_budget` words, those of sparse features, which are at most
  // as many as the entries, not counted; the tree is the same.
  TreeBuilder(const GbdtParameters& parameters, const std::vector<FeatureCuts>& cuts, const BinMatrix& matrix,
              const FeatureLimits& limits, Communicator* ranks, ThreadPool* pool,
              std::size_t histogram_budget = kHistogramBudget);

  // Grows tree number `tree_index` on the rows of node 0 in `rows`. `rows` and each of `followers` end with
  // their rows in their leaves. Leaf values include eta. An error is one of `ranks`.
  absl::StatusOr<Tree> Build(const FixedGradients& gradients, uint64_t tree_index, RowPartition* rows,
                             const std::vector<RowPartition*>& followers);

 private:
  struct OpenNode {
    int id = 0;
    int64_t depth = 0;
    int64_t rows = 0;  // of all ranks, or an upper bound until ranks have agreed on its split
    GradientSum total;
    WeightBounds bounds;
    std::vector<int> path;  // features of the splits above it, if interaction is constrained
    Histogram histogram;    // empty: counted when needed
    Split split;
  };
  // One tree's state.
  struct Growth {
    const FixedGradients& gradients;
    RowPartition& rows;
    const std::vector<RowPartition*>& followers;
    uint64_t tree_index;
    HistogramShape shape;
    HistogramExchange exchange;
    Tree tree;
    int64_t leaves = 1;
    std::size_t kept_words = 0;  // of histograms of open nodes
  };

  bool MaySplit(const OpenNode& node) const;
  absl::StatusOr<OpenNode> Root(Growth* growth);
  absl::Status GrowByLevel(Growth* growth, OpenNode root);
  absl::Status GrowByGain(Growth* growth, OpenNode root);
  // Divides the nodes, which have splits, and searches their children's splits.
  absl::StatusOr<std::vector<OpenNode>> Divide(Growth* growth, std::vector<OpenNode*> nodes);
  void BoundRows(const Growth& growth, const OpenNode& parent, OpenNode* left, OpenNode* right) const;
  bool IsSmaller(const OpenNode& a, const OpenNode& b) const;
  absl::Status FindSplits(Growth* growth, const std::vector<OpenNode*>& parents,
                          std::vector<OpenNode>* children);
  absl::Status MakeHistograms(Growth* growth, OpenNode* const* parents, OpenNode* children, std::size_t pairs,
                              bool subtract);
  absl::Status CountHistograms(Growth* growth, const std::vector<OpenNode*>& nodes);
  // The bins of sparse features that the nodes' rows are in.
  static int64_t SparseBinsOf(const std::vector<OpenNode*>& nodes);
  absl::Status SearchHistograms(Growth* growth, const std::vector<OpenNode*>& nodes);
  RowPartition::Cut WriteSplit(Growth* growth, const OpenNode& node) const;
  void MakeLeaf(Growth* growth, const OpenNode& node) const;
  void Allocate(const Growth& growth, OpenNode* node);
  void Release(OpenNode* node);

  const GbdtParameters& parameters_;
  const std::vector<FeatureCuts>& cuts_;
  const BinMatrix& matrix_;
  const FeatureLimits& limits_;
  Communicator& ranks_;
  ThreadPool& pool_;
  const std::size_t histogram_budget_;
  const float eta_;  // parallel trees share it
  const SplitFinder finder_;
  GradientScale scale_;
  std::vector<int> tree_features_;
  std::vector<std::vector<uint64_t>> spare_buffers_;
  std::vector<SplitFinder::Scratch> finder_scratch_;  // by thread
  std::vector<std::vector<uint64_t>> count_scratch_;  // by thread
  std::vector<SparseScratch> sparse_scratch_;         // by thread
};

}  // namespace winnow::gbdt
