#pragma once

#include "scheduler/state/job_state.h"

namespace winnow {

// Whether training has made a trial of the front worse in an objective, from the rung before its own to its
// own, while it lies within all thresholds. A trial counts its newest values, so the front may lose by
// training it on, whatever its rank says.
bool WorsensOnFront(const JobState& state, const TrialState& trial);

}  // namespace winnow
