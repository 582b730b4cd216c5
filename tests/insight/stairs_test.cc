#include "insight/stairs.h"

#include <algorithm>

#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE("Stairs: what was taken back is left out", "[insight]") {
  const std::vector<Stair> stairs = {{1, 1, 0.5, 1}, {2, 2, 0.9, 2}, {3, 3, 0.6, 3}, {4, 4, 0.7, 4}};
  std::vector<double> kept;
  for (const Stair& stair : MonotoneStairs(stairs, Goal::kMaximize)) kept.push_back(stair.best);
  CHECK(kept == std::vector<double>{0.5, 0.6, 0.7});
  // The best returned to its earlier value, which counts from the earlier moment on.
  const std::vector<Stair> back = {{1, 1, 0.5, 1}, {2, 2, 0.9, 2}, {3, 3, 0.5, 1}};
  REQUIRE(MonotoneStairs(back, Goal::kMaximize).size() == 1);
  CHECK(MonotoneStairs(back, Goal::kMaximize)[0].elapsed_seconds == 1);
}

TEST_CASE("Stairs: thinned ones keep both ends, every large step and no more than asked", "[insight]") {
  std::vector<Stair> stairs;
  double best = 1000;
  for (int i = 0; i < 5000; ++i) {
    best -= i == 1234 || i == 4321 ? 100 : 0.01;
    stairs.push_back({static_cast<double>(i), static_cast<double>(i), best, i + 1});
  }
  for (const size_t most : {2u, 3u, 50u, 4999u}) {
    const std::vector<Stair> thin = ThinStairs(stairs, most);
    INFO(most);
    CHECK(thin.size() == most);
    CHECK(thin.front().trial == 1);
    CHECK(thin.back().trial == 5000);
    CHECK(std::is_sorted(thin.begin(), thin.end(),
                         [](const Stair& a, const Stair& b) { return a.trial < b.trial; }));
    if (most < 50) continue;
    for (const TrialNumber trial : {1235, 4322}) {
      CHECK(std::count_if(thin.begin(), thin.end(),
                          [&](const Stair& stair) { return stair.trial == trial; }) == 1);
    }
  }
  CHECK(ThinStairs(stairs, 6000).size() == 5000);
}

}  // namespace
}  // namespace winnow
