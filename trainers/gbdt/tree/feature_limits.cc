#include "trainers/gbdt/tree/feature_limits.h"

#include <algorithm>
#include <cstdint>

namespace winnow::gbdt {

std::vector<uint8_t> FeatureLimits::Allowed(const std::vector<int>& path, std::size_t features) const {
  if (interaction.empty() || path.empty()) return std::vector<uint8_t>(features, 1);
  std::vector<uint8_t> allowed(features, 0);
  for (int feature : path) allowed[feature] = 1;
  for (const std::vector<int>& group : interaction) {
    const bool has_path = std::all_of(path.begin(), path.end(), [&](int feature) {
      return std::binary_search(group.begin(), group.end(), feature);
    });
    if (!has_path) continue;
    for (int feature : group) allowed[feature] = 1;
  }
  return allowed;
}

}  // namespace winnow::gbdt
