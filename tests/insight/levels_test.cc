#include "insight/levels.h"

#include <cmath>
#include <limits>

#include "tests/catch.h"

namespace winnow {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// `counts[i]` trials with a value at each level from 1 to `tops[i]`, which is the level.
std::vector<Curve> Trained(const std::vector<int64_t>& tops, const std::vector<int>& counts) {
  std::vector<Curve> curves;
  for (size_t i = 0; i < tops.size(); ++i) {
    for (int trial = 0; trial < counts[i]; ++trial) {
      Curve& curve = curves.emplace_back();
      for (int64_t level = 1; level <= tops[i]; ++level) curve.push_back({level, static_cast<double>(level)});
    }
  }
  return curves;
}

LevelScores Compare(const std::vector<Curve>& curves, int64_t asked = 0) {
  const std::vector<uint8_t> all(curves.size(), 1);
  return CompareAtLevel(curves, all, all, false, asked);
}

TEST_CASE("Levels: a trial counts its newest value there, or the mean up to there", "[insight]") {
  const Curve curve = {{2, 5}, {4, 1}, {9, 3}};
  CHECK(ValueAtLevel(curve, 4, false) == 1);
  CHECK(ValueAtLevel(curve, 8, false) == 1);
  CHECK(ValueAtLevel(curve, 9, false) == 3);
  CHECK(ValueAtLevel(curve, 9, true) == 3);
  CHECK(ValueAtLevel(curve, 5, true) == 3);
  CHECK(std::isnan(ValueAtLevel(curve, 1, false)));
  CHECK(std::isnan(ValueAtLevel(curve, 10, false)));
  CHECK(std::isnan(ValueAtLevel({}, 1, true)));
  CHECK(std::isnan(ValueAtLevel({{1, kNaN}, {2, 1}}, 2, true)));
}

TEST_CASE("Levels: the highest level that a third of the trials reached, and twenty", "[insight]") {
  // 27 of 81 trials, a third, reach level 3; nine reach level 9.
  const LevelScores third = Compare(Trained({1, 3, 9}, {54, 18, 9}));
  CHECK(third.level == 3);
  CHECK(third.levels == std::vector<int64_t>{1, 3, 9});
  CHECK(third.level_trials == std::vector<int64_t>{81, 27, 9});
  CHECK(std::isnan(third.scores[0]));
  CHECK(third.scores[54] == 3);
  CHECK(third.scores[80] == 3);
  // A third of 45 trials is 15: fewer than twenty are not enough.
  CHECK(Compare(Trained({1, 3, 9}, {20, 10, 15})).level == 3);
  // With fewer than twenty, all are needed.
  CHECK(Compare(Trained({1, 20}, {2, 10})).level == 1);
  CHECK(Compare(Trained({20}, {12})).level == 20);
  CHECK(Compare(Trained({}, {})).level == 0);
}

TEST_CASE("Levels: what is asked for is compared, whether it is offered or not", "[insight]") {
  const std::vector<Curve> curves = Trained({1, 3, 9}, {54, 18, 9});
  const LevelScores nine = Compare(curves, 9);
  CHECK(nine.level == 9);
  CHECK(std::isnan(nine.scores[71]));
  CHECK(nine.scores[72] == 9);
  CHECK(Compare(curves, 2).scores[54] == 2);
  const LevelScores own = Compare(curves, kOwnLevels);
  CHECK(own.level == kOwnLevels);
  CHECK(own.scores.empty());
  CHECK(own.levels == std::vector<int64_t>{1, 3, 9});
}

TEST_CASE("Levels: at most twelve are offered, of marked trials that do not run", "[insight]") {
  std::vector<int64_t> tops;
  for (int64_t top = 1; top <= 100; ++top) tops.push_back(top);
  const LevelScores many = Compare(Trained(tops, std::vector<int>(100, 1)));
  CHECK(many.levels.size() == 12);
  CHECK(many.levels.front() == 1);
  CHECK(many.levels.back() == 100);
  CHECK(many.level_trials.front() == 100);

  const std::vector<Curve> curves = Trained({3, 7, 9}, {30, 1, 30});
  std::vector<uint8_t> marked(61, 1), settled(61, 1);
  settled[30] = 0;  // runs, at level 7
  marked[60] = 0;   // filtered away
  const LevelScores seen = CompareAtLevel(curves, marked, settled, false, 0);
  CHECK(seen.levels == std::vector<int64_t>{3, 9});
  CHECK(seen.level_trials == std::vector<int64_t>{60, 29});
  CHECK(CompareAtLevel(curves, marked, std::vector<uint8_t>(61), false, 0).levels ==
        std::vector<int64_t>{3, 7, 9});
}

}  // namespace
}  // namespace winnow
