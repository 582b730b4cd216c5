#include "scheduler/models/non_dominated.h"

#include <algorithm>
#include <numeric>

namespace winnow {

bool Dominates(const ObjectivePoint& a, const ObjectivePoint& b) {
  bool better = false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    better = better || a[i] < b[i];
  }
  return better;
}

std::vector<size_t> NonDominatedFronts(const std::vector<ObjectivePoint>& points) {
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Sorted by its coordinates, a point is dominated only by earlier ones.
  std::sort(order.begin(), order.end(), [&points](size_t a, size_t b) { return points[a] < points[b]; });
  std::vector<size_t> front_of(points.size());
  std::vector<std::vector<size_t>> fronts;
  for (const size_t index : order) {
    const auto holds_dominator = [&](const std::vector<size_t>& front) {
      // The newest member has the least second objective of two: it dominates whatever another does.
      if (points[index].size() == 2) return Dominates(points[front.back()], points[index]);
      return std::any_of(front.begin(), front.end(),
                         [&](size_t other) { return Dominates(points[other], points[index]); });
    };
    const auto free = std::partition_point(fronts.begin(), fronts.end(), holds_dominator);
    front_of[index] = static_cast<size_t>(free - fronts.begin());
    if (free == fronts.end()) {
      fronts.push_back({index});
    } else {
      free->push_back(index);
    }
  }
  return front_of;
}

std::vector<size_t> FirstFront(const std::vector<ObjectivePoint>& points) {
  std::vector<size_t> front;
  for (size_t i = 0; i < points.size(); ++i) {
    if (std::any_of(front.begin(), front.end(), [&](size_t j) { return Dominates(points[j], points[i]); }))
      continue;
    std::erase_if(front, [&](size_t j) { return Dominates(points[i], points[j]); });
    front.push_back(i);
  }
  return front;
}

}  // namespace winnow
