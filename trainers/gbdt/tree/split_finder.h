#pragma once

#include <cstdint>
#include <vector>

#include "trainers/gbdt/bins/quantile_cuts.h"
#include "trainers/gbdt/tree/histogram.h"
#include "trainers/gbdt/tree/split.h"

namespace winnow::gbdt {

// A node whose split is searched.
struct SplitQuery {
  const Histogram* histogram = nullptr;
  GradientSum total;
  WeightBounds bounds;
  const std::vector<uint8_t>* allowed = nullptr;  // [feature]: 1 if it may split the node
  int first_slot = 0, end_slot = 0;               // the shape's slots to search
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
    };
    std::vector<Run> runs;
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
