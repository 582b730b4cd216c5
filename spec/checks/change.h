#pragma once

#include <string>
#include <variant>
#include <vector>

#include "scheduler/state/facts.h"
#include "scheduler/state/job_state.h"
#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The facts that a request to change the job means, in their order, made by `by` ("": not known); or what is
// wrong with the request. The first may still contradict the state, such as a pause of a paused job.
// `spec` is the job's as it was submitted.
std::variant<std::vector<FactBody>, std::vector<Violation>> ReadChange(
    const v1::ChangeTuningJobRequest& request, const v1::TuningJobSpec& spec, const JobState& state,
    const std::string& by);

// The job's share of the slots as it is now.
v1::SchedulingSpec SchedulingNow(const v1::TuningJobSpec& spec, const JobState& state);

}  // namespace winnow
