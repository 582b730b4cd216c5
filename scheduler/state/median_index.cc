#include "scheduler/state/median_index.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace winnow {
namespace {

// Finite, so that it has a rank among the others.
constexpr double kWorstAverage = std::numeric_limits<double>::max();

}  // namespace

void MedianIndex::Add(TrialNumber number, const Curve& curve, double sign) {
  if (!kept_) return;
  ++trials_;
  if (curve.empty()) return;
  const auto before = [](const Level& level, int64_t resource) { return level.resource < resource; };
  for (const auto& [resource, key] : curve) {
    const auto place = std::lower_bound(levels_.begin(), levels_.end(), resource, before);
    if (place != levels_.end() && place->resource == resource) continue;
    if (levels_.size() >= kMostLevels) break;
    // Up to here the averages are those of the level below.
    RankedList same = place == levels_.begin() ? RankedList() : std::prev(place)->averages;
    levels_.insert(place, {resource, std::move(same)});
  }
  double sum = 0;
  size_t reported = 0;
  auto level = std::lower_bound(levels_.begin(), levels_.end(), curve[0].first, before);
  for (; level != levels_.end(); ++level) {
    while (reported < curve.size() && curve[reported].first <= level->resource)
      sum += sign * curve[reported++].second;
    const double average = sum / static_cast<double>(reported);
    level->averages.Add({std::isfinite(average) ? average : kWorstAverage, number});
  }
}

std::optional<MedianIndex::Median> MedianIndex::At(int64_t level) const {
  const auto above = std::upper_bound(levels_.begin(), levels_.end(), level,
                                      [](int64_t resource, const Level& l) { return resource < l.resource; });
  if (above == levels_.begin()) return std::nullopt;
  const RankedList& averages = std::prev(above)->averages;
  const size_t n = averages.size();
  const double upper = averages.Nth(n / 2).first;
  if (upper == kWorstAverage) return std::nullopt;
  const double median = n % 2 == 1 ? upper : averages.Nth(n / 2 - 1).first / 2 + upper / 2;
  return Median{median, static_cast<int64_t>(n)};
}

}  // namespace winnow
