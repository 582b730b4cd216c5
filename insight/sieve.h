#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "insight/trial_columns.h"

namespace winnow {

// Trials that reached this rung and no higher one.
struct SieveCellData {
  int32_t bracket = -1;  // -1: no brackets
  int32_t rung = 0;
  int64_t resource = 0;
  std::array<int64_t, kTrialPhases> counts{};  // by TrialPhase
  int64_t passed = 0;               // trials that continued to a higher rung
  std::vector<uint32_t> marks;      // rows to draw, by score, best first
};

// Returns cells by bracket, then level; each marked row is in one cell. `levels` has the rung levels of each
// bracket; null without brackets: then some of the trials' levels are used. At most `most_marks` rows are
// drawn over all cells: of each cell the best, the running ones, and an even selection of the others.
std::vector<SieveCellData> MakeSieve(const TrialColumns& columns, const std::vector<uint8_t>& marked,
                                     const std::function<std::vector<int64_t>(int32_t)>& levels,
                                     size_t most_marks);

}  // namespace winnow
