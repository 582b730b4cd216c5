#pragma once

#include "scheduler/state/job_state.h"

namespace winnow {

// Whether a job ends by itself at last within these limits: by one of them, by its planned brackets, or
// because its space is finite.
inline bool HasEnd(const JobState& state, const Limits& limits) {
  return limits.max_trials != 0 || limits.max_total_resource != 0 || limits.max_wall_time_us != 0 ||
         limits.max_node_time_us != 0 || HasBracketTable(state.spec().pruner.kind) ||
         state.space().size() > 0 || state.grid() != nullptr;
}

}  // namespace winnow
