#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace winnow::gbdt {

// Constraints on the features that may split a node and on the direction of their effect. Features by number.
struct FeatureLimits {
  std::vector<int> directions;                // monotone: -1, 0 or 1 for each feature; empty: none
  std::vector<std::vector<int>> interaction;  // groups, each ascending; empty: no constraint

  // Returns 1 for each of `features` features that may follow those of `path` (in any order), as XGBoost's
  // FeatureInteractionConstraintHost: those on the path, and those of every group that contains the path.
  std::vector<uint8_t> Allowed(const std::vector<int>& path, std::size_t features) const;
};

}  // namespace winnow::gbdt
