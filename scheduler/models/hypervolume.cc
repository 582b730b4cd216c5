#include "scheduler/models/hypervolume.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

namespace winnow {
namespace {

double BoxOf(const ObjectivePoint& point, const ObjectivePoint& reference) {
  double volume = 1;
  for (size_t i = 0; i < point.size(); ++i) volume *= reference[i] - point[i];
  return volume;
}

// REQUIRES a front, each point inside.
double Sweep(std::vector<ObjectivePoint> front, const ObjectivePoint& reference) {
  std::sort(front.begin(), front.end());
  double area = 0, top = reference[1];
  for (const ObjectivePoint& point : front) {
    if (point[1] >= top) continue;
    area += (reference[0] - point[0]) * (top - point[1]);
    top = point[1];
  }
  return area;
}

std::vector<ObjectivePoint> FrontOf(const std::vector<ObjectivePoint>& points) {
  std::vector<ObjectivePoint> front;
  for (const size_t index : FirstFront(points)) front.push_back(points[index]);
  return front;
}

double VolumeOf(std::vector<ObjectivePoint> front, const ObjectivePoint& reference);

// REQUIRES all inside.
double OwnOf(const ObjectivePoint& point, std::vector<ObjectivePoint> others,
             const ObjectivePoint& reference) {
  for (ObjectivePoint& other : others) {
    for (size_t i = 0; i < other.size(); ++i) other[i] = std::max(other[i], point[i]);
  }
  return BoxOf(point, reference) - VolumeOf(FrontOf(others), reference);
}

// REQUIRES a front, each point inside.
double VolumeOf(std::vector<ObjectivePoint> front, const ObjectivePoint& reference) {
  if (front.empty()) return 0;
  if (front.size() == 1) return BoxOf(front[0], reference);
  if (reference.size() == 1) return reference[0] - std::min_element(front.begin(), front.end())->front();
  if (reference.size() == 2) return Sweep(std::move(front), reference);
  // Worst in the last objective first: what limits the others leaves few of them.
  std::sort(front.begin(), front.end(),
            [](const auto& a, const auto& b) { return std::tie(b.back(), b) < std::tie(a.back(), a); });
  double volume = 0;
  while (!front.empty()) {
    const ObjectivePoint point = std::move(front.front());
    front.erase(front.begin());
    volume += OwnOf(point, front, reference);
  }
  return volume;
}

std::vector<ObjectivePoint> InsideOf(const std::vector<ObjectivePoint>& points,
                                     const ObjectivePoint& reference) {
  std::vector<ObjectivePoint> inside;
  std::copy_if(points.begin(), points.end(), std::back_inserter(inside),
               [&reference](const ObjectivePoint& point) { return IsInside(point, reference); });
  return inside;
}

// Lowest and highest coordinates.
std::pair<ObjectivePoint, ObjectivePoint> EndsOf(const std::vector<ObjectivePoint>& points) {
  ObjectivePoint low = points[0], high = points[0];
  for (const ObjectivePoint& point : points) {
    for (size_t i = 0; i < point.size(); ++i) {
      low[i] = std::min(low[i], point[i]);
      high[i] = std::max(high[i], point[i]);
    }
  }
  return {low, high};
}

// The points of a front, from which one after the other is removed.
class Shrinking {
 public:
  Shrinking(const std::vector<ObjectivePoint>& front, const ObjectivePoint& reference)
      : front_(front), reference_(reference), left_(front.size(), true) {
    if (reference.size() != 2) return;
    before_.resize(front.size(), kNone);
    after_.resize(front.size(), kNone);
    std::vector<size_t> order;
    for (size_t i = 0; i < front.size(); ++i) {
      if (IsInside(front[i], reference)) order.push_back(i);
    }
    std::sort(order.begin(), order.end(),
              [&front](size_t a, size_t b) { return std::tie(front[a], a) < std::tie(front[b], b); });
    for (size_t i = 1; i < order.size(); ++i) {
      before_[order[i]] = order[i - 1];
      after_[order[i - 1]] = order[i];
    }
  }

  double Own(size_t index) const {
    const ObjectivePoint& point = front_[index];
    if (!IsInside(point, reference_)) return 0;
    if (reference_.size() == 2) {
      const double right = after_[index] == kNone ? reference_[0] : front_[after_[index]][0];
      const double top = before_[index] == kNone ? reference_[1] : front_[before_[index]][1];
      return (right - point[0]) * (top - point[1]);
    }
    std::vector<ObjectivePoint> others;
    for (size_t i = 0; i < front_.size(); ++i) {
      if (i != index && left_[i] && IsInside(front_[i], reference_)) others.push_back(front_[i]);
    }
    return std::max(0.0, OwnOf(point, std::move(others), reference_));
  }

  void Remove(size_t index) {
    left_[index] = false;
    if (before_.empty()) return;
    if (before_[index] != kNone) after_[before_[index]] = after_[index];
    if (after_[index] != kNone) before_[after_[index]] = before_[index];
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  const std::vector<ObjectivePoint>& front_;
  const ObjectivePoint& reference_;
  std::vector<bool> left_;
  std::vector<size_t> before_, after_;  // of two objectives: the neighbours that are left
};

// Appends `rest` to `order`, each next one the farthest from those before it, until `order` has `most`.
void AppendNet(const std::vector<ObjectivePoint>& front, std::vector<size_t> rest, size_t most,
               std::vector<size_t>& order) {
  if (rest.empty() || order.size() >= most) return;
  const auto [low, high] = EndsOf(front);
  const size_t objectives = low.size();
  std::vector<double> scaled;  // point after point
  for (const ObjectivePoint& point : front) {
    for (size_t i = 0; i < objectives; ++i)
      scaled.push_back(high[i] > low[i] ? (point[i] - low[i]) / (high[i] - low[i]) : 0);
  }
  const auto distance = [&](size_t a, size_t b) {
    double sum = 0;
    for (size_t i = 0; i < objectives; ++i)
      sum += std::pow(scaled[a * objectives + i] - scaled[b * objectives + i], 2);
    return sum;
  };
  // Distance to the nearest that is placed; while none is, the negated sum of the scaled objectives.
  std::vector<double> worth;
  for (const size_t index : rest) {
    double nearest = std::numeric_limits<double>::infinity();
    for (const size_t placed : order) nearest = std::min(nearest, distance(index, placed));
    if (order.empty()) {
      nearest = 0;
      for (size_t i = 0; i < objectives; ++i) nearest -= scaled[index * objectives + i];
    }
    worth.push_back(nearest);
  }
  bool any = !order.empty();
  while (!rest.empty()) {
    const auto next = std::max_element(worth.begin(), worth.end()) - worth.begin();
    const size_t placed = rest[next];
    order.push_back(placed);
    if (order.size() >= most) return;
    rest.erase(rest.begin() + next);
    worth.erase(worth.begin() + next);
    for (size_t i = 0; i < rest.size(); ++i) {
      const double to_placed = distance(rest[i], placed);
      worth[i] = any ? std::min(worth[i], to_placed) : to_placed;
    }
    any = true;
  }
}

}  // namespace

bool IsInside(const ObjectivePoint& point, const ObjectivePoint& reference) {
  for (size_t i = 0; i < point.size(); ++i) {
    if (!(point[i] < reference[i])) return false;
  }
  return true;
}

double Hypervolume(const std::vector<ObjectivePoint>& points, const ObjectivePoint& reference) {
  return VolumeOf(FrontOf(InsideOf(points, reference)), reference);
}

double OwnHypervolume(const ObjectivePoint& point, const std::vector<ObjectivePoint>& others,
                      const ObjectivePoint& reference) {
  if (!IsInside(point, reference)) return 0;
  return std::max(0.0, OwnOf(point, InsideOf(others, reference), reference));
}

std::vector<double> OwnHypervolumes(const std::vector<ObjectivePoint>& front,
                                    const ObjectivePoint& reference) {
  const Shrinking shrinking(front, reference);
  std::vector<double> own;
  for (size_t i = 0; i < front.size(); ++i) own.push_back(shrinking.Own(i));
  return own;
}

ObjectivePoint WorstWithMargin(const std::vector<ObjectivePoint>& points) {
  constexpr double kMargin = 0.1;
  auto [low, high] = EndsOf(points);
  for (size_t i = 0; i < high.size(); ++i) high[i] += high[i] > low[i] ? kMargin * (high[i] - low[i]) : 1;
  return high;
}

std::vector<size_t> SpreadOrder(const std::vector<ObjectivePoint>& front, const ObjectivePoint& reference,
                                size_t most) {
  std::vector<size_t> order, rest;
  if (reference.size() > 2 && front.size() > kMostByVolume) {
    rest.resize(front.size());
    std::iota(rest.begin(), rest.end(), size_t{0});
  } else {
    // A removal only adds to what the others have: each known value is a lower bound.
    using Bound = std::tuple<double, size_t>;  // volume, and an index that is less for later points
    std::priority_queue<Bound, std::vector<Bound>, std::greater<>> least;
    Shrinking shrinking(front, reference);
    for (size_t i = 0; i < front.size(); ++i) least.emplace(shrinking.Own(i), front.size() - i);
    while (!least.empty()) {
      const auto [bound, reversed] = least.top();
      least.pop();
      const size_t index = front.size() - reversed;
      const double own = shrinking.Own(index);
      if (own > bound) {
        least.emplace(own, reversed);
        continue;
      }
      shrinking.Remove(index);
      (own > 0 ? order : rest).push_back(index);
    }
    std::reverse(order.begin(), order.end());
    std::sort(rest.begin(), rest.end());
  }
  AppendNet(front, std::move(rest), most, order);
  return order;
}

}  // namespace winnow
