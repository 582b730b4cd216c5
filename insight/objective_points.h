#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "insight/trial_columns.h"
#include "scheduler/space/types.h"

namespace winnow {

// Which rows of a job with several objectives are on its Pareto front, by row: those of trials that have not
// failed, have finite values of all objectives and violate no constraint, and that no other such trial
// dominates. O(n * size of the front).
std::vector<uint8_t> FrontMarks(const TrialColumns& columns, const std::vector<Objective>& objectives);

// The marked rows with finite values of the metrics `x` and `y` (indices of TrialColumns::metric): all if
// there are at most `most`, else those on the front first, evenly chosen if they are too many, and an even
// choice of the others. `count`: how many there are.
struct ObjectiveRows {
  std::vector<uint32_t> rows;
  int64_t count = 0;
};
ObjectiveRows RowsToDraw(const TrialColumns& columns, const std::vector<uint8_t>& marked,
                         const std::vector<uint8_t>& front, size_t x, size_t y, size_t most);

}  // namespace winnow
