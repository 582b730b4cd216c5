#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace winnow::gbdt {

// Which features a node may be split by, and in what direction a feature may act. Features by number.
struct FeatureLimits {
  std::vector<int> directions;                // monotone: -1, 0 or 1 for each feature; empty: none
  std::vector<std::vector<int>> interaction;  // groups, each ascending; empty: everything may meet

  // 1 for each of `features` features that may follow those of `path` (in any order), as XGBoost's
  // FeatureInteractionConstraintHost has it: those on the path, and those of every group that has the whole path.
  std::vector<uint8_t> Allowed(const std::vector<int>& path, std::size_t features) const;
};

}  // namespace winnow::gbdt
