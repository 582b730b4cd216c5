#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "scheduler/space/types.h"

namespace winnow {

// The compared quantities: the best value, the time and the cost.
struct Outcome {
  std::optional<double> best;
  double elapsed_seconds = 0;
  double node_seconds = 0;
};

// Returns for each whether no other is better in one of the three and as good in the rest; false without a
// best.
std::vector<bool> ParetoFront(const std::vector<Outcome>& outcomes, Goal goal);

}  // namespace winnow
