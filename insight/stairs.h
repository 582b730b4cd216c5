#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/space/types.h"

namespace winnow {

// A job's best value from some moment on.
struct Stair {
  double elapsed_seconds = 0;
  double resource = 0;
  double best = 0;
  TrialNumber trial = 0;
};

// Removes retracted values: those of trials that failed later, if better than the values after them.
std::vector<Stair> MonotoneStairs(const std::vector<Stair>& stairs, Goal goal);

// Returns at most `most` (at least 2): the first, the last, those that reduced the remaining distance to the
// end by the largest factor, and an even selection of the others.
std::vector<Stair> ThinStairs(const std::vector<Stair>& stairs, size_t most);

}  // namespace winnow
