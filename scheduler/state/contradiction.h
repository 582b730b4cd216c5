#pragma once

#include <string>

#include "scheduler/state/facts.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// Why a fact cannot be the next of a job that has not ended; "" if it can.
std::string ContradictionOf(const JobState& state, const FactBody& fact);

}  // namespace winnow
