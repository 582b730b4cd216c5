#pragma once

#include "scheduler/simulate.h"
#include "tests/scheduler/jobs.h"

namespace winnow {

// Plays the job, and checks all that must hold of any.
SimulationResult PlayAndCheck(AnyJob job);

}  // namespace winnow
