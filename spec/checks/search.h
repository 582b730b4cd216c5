#pragma once

#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The violations in the search space, strategy, sampler, pruner, initial configurations, completion and warm
// start: unknown names, settings that the sampler or the pruner does not use, and what scheduler/validate.h
// finds.
std::vector<Violation> CheckSearch(const v1::TuningJobSpec& spec);

}  // namespace winnow
