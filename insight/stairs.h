#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/space/types.h"

namespace winnow {

// What a job's best was from some moment on.
struct Stair {
  double elapsed_seconds = 0;
  double resource = 0;
  double best = 0;
  TrialNumber trial = 0;
};

// Without what was taken back: the values of trials that failed later, which are better than what came after
// them.
std::vector<Stair> MonotoneStairs(const std::vector<Stair>& stairs, Goal goal);

// At most `most` of them (at least 2): the first and the last, those that came nearest to the end from where
// the stairs stood (their part of the way that was left), and an even share of the others.
std::vector<Stair> ThinStairs(const std::vector<Stair>& stairs, size_t most);

}  // namespace winnow
