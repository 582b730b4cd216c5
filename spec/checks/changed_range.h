#pragma once

#include <variant>
#include <vector>

#include "scheduler/state/facts.h"
#include "scheduler/state/job_state.h"
#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The fact that the request means, made by nobody yet; or what is wrong with it. `spec` is the job's as it
// was submitted. The job must be one that could have been submitted with this range.
std::variant<RangeChanged, std::vector<Violation>> ReadRange(const v1::ChangedRange& given,
                                                             const v1::TuningJobSpec& spec,
                                                             const JobState& state);

}  // namespace winnow
