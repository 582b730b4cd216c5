#include "scheduler/state/curve.h"

#include <algorithm>
#include <iterator>

namespace winnow {

bool Curve::Add(int64_t level, double value) {
  const auto place = std::lower_bound(points_.begin(), points_.end(), level,
                                      [](const Point& point, int64_t l) { return point.first < l; });
  if (place != points_.end() && place->first == level) return false;
  const bool is_highest = place == points_.end();
  points_.emplace(place, level, value);
  if (is_highest) sum_ += value;
  rises_ = rises_ && is_highest;
  return true;
}

double Curve::mean() const {
  double sum = sum_;
  if (!rises_) {
    sum = 0;
    for (const Point& point : points_) sum += point.second;
  }
  return sum / static_cast<double>(points_.size());
}

std::optional<double> Curve::at(int64_t level) const {
  const auto after = std::upper_bound(points_.begin(), points_.end(), level,
                                      [](int64_t l, const Point& point) { return l < point.first; });
  if (after == points_.begin()) return std::nullopt;
  return std::prev(after)->second;
}

}  // namespace winnow
