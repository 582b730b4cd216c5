#pragma once

#include <string>

#include "scheduler/state/job_state.h"

namespace winnow {

// The fact as one plain English sentence for users. `metric` is the objective's name. `state`: of a trial that the fact
// ends, what it is now: that it was stopped does not say whether it was pruned or cancelled.
std::string FactText(const Fact& fact, const std::string& metric, TrialPhase state = TrialPhase::kPruned);

}  // namespace winnow
