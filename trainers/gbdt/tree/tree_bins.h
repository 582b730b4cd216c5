#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "trainers/gbdt/bins/bin_layout.h"
#include "trainers/gbdt/bins/quantile_cuts.h"
#include "trainers/gbdt/tree/tree.h"

namespace winnow::gbdt {

// Returns the feature's bins that a split sends left: [bin], 1 if left, the last for missing values.
// REQUIRES: the tree was grown from these cuts.
inline std::vector<uint8_t> LeftBins(const Tree& tree, const Tree::Node& node, const FeatureCuts& cuts) {
  std::vector<uint8_t> left(ValueBins(cuts) + 1, 0);
  if (node.categorical) {
    for (int bin = 0; bin < cuts.bins(); ++bin)
      left[bin] = tree.GoesLeft(node, static_cast<float>(cuts.categories[bin]));
    left[cuts.bins()] = 1;
  } else {
    // Bin b's values are at or above thresholds[b - 1].
    const auto from = std::lower_bound(cuts.thresholds.begin(), cuts.thresholds.end(), node.threshold);
    const bool none = cuts.thresholds.empty() || node.threshold < cuts.thresholds.front();
    if (!none) std::fill(left.begin(), left.begin() + (from - cuts.thresholds.begin()) + 1, 1);
  }
  left.back() = node.missing_left;
  return left;
}

}  // namespace winnow::gbdt
