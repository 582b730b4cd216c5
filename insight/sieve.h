#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "insight/trial_columns.h"

namespace winnow {

// Trials that got to this rung and no further.
struct SieveCellData {
  int32_t bracket = -1;  // -1: there are no brackets
  int32_t rung = 0;
  int64_t resource = 0;
  std::array<int64_t, kTrialPhases> counts{};  // by TrialPhase
  int64_t passed = 0;               // trials that went on to a higher rung
  std::vector<uint32_t> marks;      // rows to draw, by score, best first
};

// Cells by bracket, then level, of the marked rows; those of all cells are all of them. `levels` gives the
// levels of a bracket's rungs; of a search without brackets it is null, and the levels are some at which
// trials are. At most `most_marks` rows are drawn over all cells: of each its best, those that run, and an
// even share of the others.
std::vector<SieveCellData> MakeSieve(const TrialColumns& columns, const std::vector<uint8_t>& marked,
                                     const std::function<std::vector<int64_t>(int32_t)>& levels,
                                     size_t most_marks);

}  // namespace winnow
