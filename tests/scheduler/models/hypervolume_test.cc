#include "scheduler/models/hypervolume.h"

#include <algorithm>
#include <numeric>

#include "scheduler/space/random.h"
#include "tests/catch.h"

namespace winnow {
namespace {

constexpr int64_t kSide = 6;  // of the grid on which points lie

std::vector<ObjectivePoint> DrawPoints(uint64_t seed, size_t count, size_t objectives, bool on_grid) {
  std::vector<ObjectivePoint> points(count, ObjectivePoint(objectives));
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < objectives; ++j) {
      const auto number = static_cast<int64_t>(i);
      points[i][j] =
          on_grid ? static_cast<double>(RandomBits(seed, number, Purpose::kSimulation, j) % (kSide + 2))
                  : kSide * RandomUnit(seed, number, Purpose::kSimulation, j);
    }
  }
  return points;
}

// Counts the unit cells of the grid below the reference (kSide in each objective) that some point dominates.
double CountedCells(const std::vector<ObjectivePoint>& points, size_t objectives) {
  int64_t cells = 1;
  for (size_t j = 0; j < objectives; ++j) cells *= kSide;
  double counted = 0;
  for (int64_t cell = 0; cell < cells; ++cell) {
    const auto holds = [&](const ObjectivePoint& point) {
      int64_t rest = cell;
      for (size_t j = 0; j < objectives; ++j, rest /= kSide) {
        if (point[j] > static_cast<double>(rest % kSide)) return false;
      }
      return true;
    };
    counted += std::any_of(points.begin(), points.end(), holds) ? 1 : 0;
  }
  return counted;
}

TEST_CASE("Hypervolume: as many cells as are dominated", "[scheduler]") {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const size_t objectives = 1 + seed % 4;
    const auto points = DrawPoints(seed, seed % 15, objectives, true);
    const ObjectivePoint reference(objectives, kSide);
    CAPTURE(seed);
    REQUIRE(Hypervolume(points, reference) == CountedCells(points, objectives));
    if (points.empty()) continue;
    const std::vector<ObjectivePoint> others(points.begin() + 1, points.end());
    REQUIRE(OwnHypervolume(points[0], others, reference) ==
            CountedCells(points, objectives) - CountedCells(others, objectives));
  }
}

TEST_CASE("Hypervolume: what a front loses without a point is the point's own", "[scheduler]") {
  for (const size_t objectives : {1, 2, 3, 4}) {
    const std::vector<ObjectivePoint> points = DrawPoints(objectives, 12, objectives, false);
    const ObjectivePoint reference(objectives, 0.8 * kSide);
    std::vector<ObjectivePoint> front;
    for (const size_t index : FirstFront(points)) front.push_back(points[index]);
    const std::vector<double> own = OwnHypervolumes(front, reference);
    REQUIRE(own.size() == front.size());
    for (size_t i = 0; i < front.size(); ++i) {
      std::vector<ObjectivePoint> others = front;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK(own[i] == Approx(Hypervolume(front, reference) - Hypervolume(others, reference)).margin(1e-9));
    }
  }
}

TEST_CASE("Hypervolume: the reference lies behind the worst by a tenth of the range", "[scheduler]") {
  CHECK(WorstWithMargin({{0, 5}, {10, 5}}) == ObjectivePoint{11, 6});
}

TEST_CASE("Hypervolume: the last place goes to the point of least own volume, again and again",
          "[scheduler]") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const size_t objectives = 2 + seed % 3;
    const auto drawn = DrawPoints(seed, 12, objectives, false);
    std::vector<ObjectivePoint> front;
    for (const size_t index : FirstFront(drawn)) front.push_back(drawn[index]);
    const ObjectivePoint reference = WorstWithMargin(front);
    const std::vector<size_t> order = SpreadOrder(front, reference);
    REQUIRE(order.size() == front.size());
    std::vector<size_t> left = order;
    while (left.size() > 1) {
      std::vector<double> own;
      for (const size_t index : left) {
        std::vector<ObjectivePoint> others;
        for (const size_t other : left) {
          if (other != index) others.push_back(front[other]);
        }
        own.push_back(OwnHypervolume(front[index], others, reference));
      }
      REQUIRE(own.back() <= *std::min_element(own.begin(), own.end()) + 1e-9);
      left.pop_back();
    }
  }
}

TEST_CASE("Hypervolume: of two equal points one keeps its place and the other is among the last",
          "[scheduler]") {
  const std::vector<ObjectivePoint> front = {{0, 3}, {1, 1}, {1, 1}, {3, 0}};
  const std::vector<size_t> order = SpreadOrder(front, {4, 4});
  CHECK(order[0] == 1);
  CHECK(order[3] == 2);
}

TEST_CASE("Hypervolume: points behind the reference are ordered as an epsilon net", "[scheduler]") {
  // None has a volume: first the least sum, then always the farthest from those before.
  const std::vector<ObjectivePoint> front = {{0, 10}, {1, 9}, {5, 4}, {9, 1}, {10, 0}};
  const std::vector<size_t> order = SpreadOrder(front, {-1, -1});
  CHECK(order == std::vector<size_t>{2, 0, 4, 1, 3});
}

TEST_CASE("Hypervolume: a long front of three objectives is ordered by the net alone", "[scheduler]") {
  std::vector<ObjectivePoint> front;
  for (size_t i = 0; i <= kMostByVolume; ++i) {
    const auto x = static_cast<double>(i);
    front.push_back({x, 100 - x, 50});
  }
  const std::vector<size_t> order = SpreadOrder(front, {200, 200, 200});
  std::vector<size_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<size_t> all(front.size());
  std::iota(all.begin(), all.end(), size_t{0});
  CHECK(sorted == all);
  const auto first_three = order.begin() + 3;
  CHECK(std::find(order.begin(), first_three, size_t{0}) != first_three);
  CHECK(std::find(order.begin(), first_three, kMostByVolume) != first_three);
}

TEST_CASE("Hypervolume: a net that is asked for its first places is the beginning of the whole one",
          "[scheduler]") {
  for (const size_t objectives : {3, 4}) {
    std::vector<ObjectivePoint> front = DrawPoints(objectives, kMostByVolume + 30, objectives, true);
    for (ObjectivePoint& point : front)  // on a plane: none dominates another
      point.back() = 100 - std::accumulate(point.begin(), point.end() - 1, 0.0);
    const ObjectivePoint reference(objectives, 200);
    const std::vector<size_t> order = SpreadOrder(front, reference);
    REQUIRE(order.size() == front.size());
    for (const size_t most : {size_t{1}, size_t{2}, size_t{17}, front.size()}) {
      const auto end = order.begin() + static_cast<std::ptrdiff_t>(most);
      CHECK(SpreadOrder(front, reference, most) == std::vector<size_t>(order.begin(), end));
    }
  }
}

}  // namespace
}  // namespace winnow
