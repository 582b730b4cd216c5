#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "scheduler/space/identical.h"
#include "scheduler/space/types.h"

namespace winnow {

// A trial's learning curve: the objective's values by rising resource level, which may be NaN. The first
// value of a level stays.
class Curve {
 public:
  using Point = std::pair<int64_t, double>;  // level, value

  Curve() = default;
  Curve(std::initializer_list<Point> points) {
    for (const auto& [level, value] : points) Add(level, value);
  }

  // False: the level is known. O(1) above the highest level, else the levels above it are moved.
  bool Add(int64_t level, double value);

  bool empty() const { return points_.empty(); }
  size_t size() const { return points_.size(); }
  const Point& operator[](size_t index) const { return points_[index]; }
  const Point& back() const { return points_.back(); }
  auto begin() const { return points_.begin(); }
  auto end() const { return points_.end(); }

  // The mean of all values, added by rising level; O(n) if they did not come so. REQUIRES !empty().
  double mean() const;
  // The newest value at or below a level; absent: there is none.
  std::optional<double> at(int64_t level) const;

  // To the bit.
  bool operator==(const Curve& other) const { return Identical(points_, other.points_); }

 private:
  std::vector<Point> points_;
  bool rises_ = true;  // each level that came was above those before
  double sum_ = 0;     // of the values, if so
};

// Calls `take` with each level of the curve, rising, and with what counts there: the value, or the running
// mean.
template <typename Take>
void ForEachCounted(const Curve& curve, ObjectiveValue counts, Take take) {
  double sum = 0;
  for (size_t i = 0; i < curve.size(); ++i) {
    const auto& [level, value] = curve[i];
    sum += value;
    take(level, counts == ObjectiveValue::kMean ? sum / static_cast<double>(i + 1) : value);
  }
}

}  // namespace winnow
