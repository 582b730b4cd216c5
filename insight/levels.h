#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "insight/curves.h"

namespace winnow {

// Instead of a level of comparison: each trial counts with its own value, at whatever level.
inline constexpr int64_t kOwnLevels = -1;

// Values of trials compared at one level, and the other levels offered.
struct LevelScores {
  int64_t level = 0;                  // kOwnLevels: `scores` is empty; 0: no trial has a value
  std::vector<double> scores;         // by row: the trial's value at the level; NaN: it did not reach it
  std::vector<int64_t> levels;        // offered, rising
  std::vector<int64_t> level_trials;  // number of marked trials with a value at each
};

// Returns the value of a trial with this curve in a comparison at `level`: the newest at or below it, or with
// `mean` the mean of all values up to it. NaN: it was not trained that far, or a value is NaN.
double ValueAtLevel(const Curve& curve, int64_t level, bool mean);

// Returns the values of all rows at the level `asked`; for 0, at the most informative level: the highest
// offered one that at least a third of the marked rows, and at least 20, have reached; with fewer than 20
// trials, the highest that all have reached. Offered are the last levels of the marked `settled` rows (of all
// marked rows if none is settled), or 12 of these. Rows beyond `curves` have no value.
LevelScores CompareAtLevel(const std::vector<Curve>& curves, const std::vector<uint8_t>& marked,
                           const std::vector<uint8_t>& settled, bool mean, int64_t asked);

}  // namespace winnow
