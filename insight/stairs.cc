#include "insight/stairs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "insight/even_choice.h"

namespace winnow {

std::vector<Stair> MonotoneStairs(const std::vector<Stair>& stairs, Goal goal) {
  std::vector<Stair> kept;
  for (auto stair = stairs.rbegin(); stair != stairs.rend(); ++stair) {
    const bool worse = kept.empty() || (goal == Goal::kMaximize ? stair->best < kept.back().best
                                                                : stair->best > kept.back().best);
    if (worse) {
      kept.push_back(*stair);
    } else if (stair->best == kept.back().best) {
      kept.back() = *stair;  // the best was reached before
    }
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

std::vector<Stair> ThinStairs(const std::vector<Stair>& stairs, size_t most) {
  if (stairs.size() <= most) return stairs;
  const double end = stairs.back().best;
  std::vector<size_t> order(stairs.size() - 2);  // by reduction of the remaining distance, largest first
  std::iota(order.begin(), order.end(), 1);
  const auto part = [&](size_t i) {
    const double left = std::abs(end - stairs[i - 1].best);
    return left > 0 ? std::abs(stairs[i].best - stairs[i - 1].best) / left : 0;
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return part(a) > part(b); });
  std::vector<uint8_t> keep(stairs.size());
  keep.front() = keep.back() = 1;
  size_t free = std::max<size_t>(most, 2) - 2;
  for (size_t i = 0; i < order.size() && i < (free + 1) / 2; ++i) keep[order[i]] = 1;
  free -= std::min(free, std::min(order.size(), (free + 1) / 2));
  std::vector<size_t> others;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i] == 0) others.push_back(i);
  }
  for (const size_t i : ChooseEvenly(others, free)) keep[i] = 1;
  std::vector<Stair> thin;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i] != 0) thin.push_back(stairs[i]);
  }
  return thin;
}

}  // namespace winnow
