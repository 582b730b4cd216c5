#include "scheduler/models/non_dominated.h"

#include <algorithm>

#include "scheduler/space/random.h"
#include "tests/catch.h"

namespace winnow {
namespace {

// Coordinates on a coarse grid, so that there are ties and equal points.
std::vector<ObjectivePoint> DrawPoints(uint64_t seed, size_t count, size_t objectives) {
  std::vector<ObjectivePoint> points(count, ObjectivePoint(objectives));
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < objectives; ++j)
      points[i][j] =
          static_cast<double>(RandomBits(seed, static_cast<int64_t>(i), Purpose::kSimulation, j) % 8);
  }
  return points;
}

TEST_CASE("Non-dominated: better somewhere and worse nowhere", "[scheduler]") {
  CHECK(Dominates({1, 2}, {1, 3}));
  CHECK(Dominates({0, 2}, {1, 3}));
  CHECK_FALSE(Dominates({1, 2}, {1, 2}));
  CHECK_FALSE(Dominates({0, 4}, {1, 3}));
  CHECK_FALSE(Dominates({1, 3}, {1, 2}));
}

TEST_CASE("Non-dominated: fronts by their definition", "[scheduler]") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const size_t objectives = 1 + seed % 4;
    const auto points = DrawPoints(seed, 1 + seed % 40, objectives);
    const std::vector<size_t> fronts = NonDominatedFronts(points);
    for (size_t i = 0; i < points.size(); ++i) {
      // One more than the highest front of those that dominate it.
      size_t expected = 0;
      for (size_t j = 0; j < points.size(); ++j) {
        if (Dominates(points[j], points[i])) expected = std::max(expected, fronts[j] + 1);
      }
      REQUIRE(fronts[i] == expected);
    }
    std::vector<size_t> first;
    for (size_t i = 0; i < points.size(); ++i) {
      if (fronts[i] == 0) first.push_back(i);
    }
    REQUIRE(FirstFront(points) == first);
  }
}

}  // namespace
}  // namespace winnow
