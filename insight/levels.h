#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "insight/curves.h"

namespace winnow {

// Each trial by its own value, whatever its level, in place of a level of comparison.
inline constexpr int64_t kOwnLevels = -1;

// Trials that are compared at one level, and where else they could be.
struct LevelScores {
  int64_t level = 0;                  // kOwnLevels: `scores` is empty; 0: no trial has a value
  std::vector<double> scores;         // by row: the trial's value at the level; NaN: it did not reach it
  std::vector<int64_t> levels;        // that are offered, rising
  std::vector<int64_t> level_trials;  // marked trials with a value at each
};

// What a trial with this curve counts where trials are compared at `level`: its newest value at or below it,
// or with `mean` that of all its values up to it. NaN: it was not trained so far, or a value is none.
double ValueAtLevel(const Curve& curve, int64_t level, bool mean);

// The values of all rows at the level that is `asked`; of 0 that which says most of the marked rows. That is
// the highest of the offered levels that at least a third of them, and at least 20, have reached; of fewer
// than 20 trials, the highest that all have reached. Offered are the levels at which the `settled` ones among
// the marked rows stand (of all, if none is), or 12 of them. Rows beyond `curves` have no value.
LevelScores CompareAtLevel(const std::vector<Curve>& curves, const std::vector<uint8_t>& marked,
                           const std::vector<uint8_t>& settled, bool mean, int64_t asked);

}  // namespace winnow
