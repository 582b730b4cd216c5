#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "trainers/gbdt/bins/bin_layout.h"
#include "trainers/gbdt/bins/quantile_cuts.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/gbdt/tree/histogram.h"
#include "trainers/gbdt/tree/kernels.h"
#include "trainers/gbdt/tree/split.h"

namespace winnow::gbdt {

// Computes the histograms of the groups that share a slot from the slot's, by sums over the digits of the
// others. The last group is separated first, so that the rest shrinks. sums: the slot's bins. Calls
// use(group, bins) for each group; the pointer is valid during the call. Sum: PackedSum or GradientSum.
template <typename Sum, typename Use>
void ForEachGroup(const BinLayout& layout, const BinSlot& slot, const Sum* sums, std::vector<Sum>* scratch,
                  const Use& use) {
  scratch->resize(static_cast<std::size_t>(2 * slot.bins));
  Sum* const group_sums = scratch->data() + slot.bins;
  const Sum* rest = sums;
  for (std::size_t k = slot.groups.size(); k-- > 1;) {
    const FeatureGroup& group = layout.groups[slot.groups[k]];
    const int stride = group.stride;
    for (int bin = 0; bin < group.bins; ++bin) {
      Sum sum{};
      for (int i = 0; i < stride; ++i) sum += rest[bin * stride + i];
      group_sums[bin] = sum;
    }
    use(slot.groups[k], static_cast<const Sum*>(group_sums));
    Sum* folded = scratch->data();
    if (rest != folded) std::copy(rest, rest + stride, folded);
    for (int bin = 1; bin < group.bins; ++bin) {
      for (int i = 0; i < stride; ++i) folded[i] += rest[bin * stride + i];
    }
    rest = folded;
  }
  use(slot.groups[0], rest);
}

// The gain of a cut with this left side, at most 0 if it is not allowed; and the value of a node.
using CategoryGain = std::function<float(const GradientSum& left)>;
using CategoryWeight = std::function<double(const GradientSum& sum)>;

// Returns the best division of a categorical feature's bins, as in XGBoost 1.7's hist: with fewer than
// max_cat_to_onehot categories, one against the others; with more, those sorted by their weight are cut in
// two (Fisher 1958), with at most max_cat_threshold of them on the smaller side. Split::gain is 0 if there is
// none. The caller sets the split's feature.
Split BestCategorySplit(const GbdtParameters& parameters, const std::vector<GradientSum>& bins,
                        const GradientSum& missing, const GradientSum& total, const CategoryGain& gain,
                        const CategoryWeight& weight);

// A node whose split is searched.
struct SplitQuery {
  const Histogram* histogram = nullptr;
  GradientSum total;
  WeightBounds bounds;
  const std::vector<uint8_t>* allowed = nullptr;  // [feature]: 1 if it may split the node
  int first_slot = 0, end_slot = 0;               // the shape's slots to search
  int sparse_part = 0, sparse_parts = 1;          // the part of the sparse features to search
};

// Finds the best split of a node from its histogram, independent of the division into slots.
class SplitFinder {
 public:
  // Keeps references to layout, parameters and directions. directions: monotone constraints by feature;
  // empty: none.
  SplitFinder(const GbdtParameters& parameters, const BinLayout& layout, const std::vector<FeatureCuts>& cuts,
              const std::vector<int>& directions);

  // Memory of one thread.
  struct Scratch {
    struct Run {  // candidates of one feature, one after the other
      enum Kind : uint8_t { kMissingRight, kMissingAlone, kMissingLeft };
      int feature;
      Kind kind;
      int begin;
      int used = -1, used_end = -1;  // of a sparse feature: its value bins with rows, in `used`
    };
    std::vector<Run> runs;
    std::vector<int> used;               // value bins of sparse features, of each ascending
    std::vector<GradientSum> used_sums;  // of one feature's
    std::vector<double> left_gradient, left_hessian;
    std::vector<float> gain;
    std::vector<PackedSum> packed_slot, packed_bins;
    std::vector<GradientSum> wide_slot, wide_bins;
    int count = 0;
  };

  Split Best(const HistogramShape& shape, const GradientScale& scale, const SplitQuery& query,
             Scratch* scratch) const;

  const GainRule& rule() const { return rule_; }
  // A side's value, before eta, in a node with these bounds.
  double WeightOf(const GradientSum& sum, const GradientScale& scale, const WeightBounds& bounds) const;
  // Returns the bounds of a split's two children.
  void ChildBounds(const Split& split, const GradientScale& scale, const WeightBounds& bounds,
                   WeightBounds* left, WeightBounds* right) const;

 private:
  struct Search;  // one call of Best

  const GbdtParameters& parameters_;
  const BinLayout& layout_;
  const std::vector<FeatureCuts>& cuts_;
  const std::vector<int>& directions_;
  const GainRule rule_;
};

}  // namespace winnow::gbdt
