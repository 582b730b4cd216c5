#pragma once

#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// What is wrong with the search space, strategy, sampler, pruner, initial configurations, completion and warm
// start: names that stand for nothing, settings that what searches does not use, and all that
// scheduler/validate.h finds.
std::vector<Violation> CheckSearch(const v1::TuningJobSpec& spec);

}  // namespace winnow
