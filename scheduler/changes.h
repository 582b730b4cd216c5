#pragma once

#include <vector>

#include "scheduler/state/facts.h"
#include "scheduler/state/job_state.h"
#include "scheduler/validate.h"

namespace winnow {

// What speaks against a change that fits the state (JobState::Contradiction), by the field of the request;
// empty: nothing. A limit may not be below what it limits already: trials that exist, units that are trained
// or are being trained. A limit of time or cost may be: it ends the job then. Limits by which brackets were
// planned stay, and so does one that ends the job, if there is no other.
std::vector<Violation> CheckLimits(const JobState& state, const LimitsChanged& change);
// A job that has ended is to go on with these limits: there must be something left to train.
std::vector<Violation> CheckContinued(const JobState& ended, const JobContinued& continued,
                                      const LimitsChanged& change);
// What is tried from now on is to have this range. The space must keep a configuration, and every one that
// waits in the queue; brackets stay as they were planned. REQUIRES ChangedRange gives a range, and the job
// has no grid.
std::vector<Violation> CheckRange(const JobState& state, const RangeChanged& change);
// `configuration` is one of the space's parameters.
std::vector<Violation> CheckEnqueued(const JobState& state, const Configuration& configuration);

}  // namespace winnow
