#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "scheduler/space/types.h"

namespace winnow {

// What is compared: the best value, the time it took and what it cost.
struct Outcome {
  std::optional<double> best;
  double elapsed_seconds = 0;
  double node_seconds = 0;
};

// For each, whether no other is better in one of the three and as good in the others; those without a best
// are none.
std::vector<bool> ParetoFront(const std::vector<Outcome>& outcomes, Goal goal);

}  // namespace winnow
