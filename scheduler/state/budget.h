#pragma once

#include <cstdint>
#include <string>

#include "scheduler/state/job_state.h"

namespace winnow {

// max_total_resource: whether `units` more can be spent beside what is reported, and beside what live
// attempts may still report.
bool PaysNow(const JobState& state, int64_t units);
// Whether they could if live attempts reported nothing more.
bool PaysEver(const JobState& state, int64_t units);

// "max_total_resource = 1000 leaves too little for another part: 990 units are trained."
std::string SpentReason(const JobState& state);

}  // namespace winnow
