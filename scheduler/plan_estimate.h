#pragma once

#include "scheduler/space/types.h"

namespace winnow {

// How long a job would take, and what its slots would do; 0: not known.
struct PlanEstimate {
  double elapsed_seconds = 0;
  double busy_fraction = 0;     // of the slots' time until the job's end
  double startup_fraction = 0;  // of the busy time
};

// Estimates a job on `slots` slots, where a unit takes `unit_seconds` on one slot and every part takes
// `startup_seconds` before its first unit. The job is simulated with made-up learning curves and without
// failures. The work is bounded: a longer job is simulated in part and scaled up. No model is asked: GP and
// TPE are simulated as SOBOL, and FREEZE_THAW as ASHA whose lowest rung is where FREEZE_THAW's first parts
// would end. REQUIRES spec is valid.
PlanEstimate EstimatePlan(const SearchSpec& spec, int slots, double unit_seconds, double startup_seconds = 0);

}  // namespace winnow
