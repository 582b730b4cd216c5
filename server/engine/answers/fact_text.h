#pragma once

#include <string>
#include <vector>

#include "scheduler/state/job_state.h"

namespace winnow {

// Returns the fact as one plain English sentence for users. `metrics`: SearchSpec::RankingMetrics. `state`:
// for a fact that ends a trial, the trial's state now, because a stop alone does not say whether it was
// pruned or cancelled.
std::string FactText(const Fact& fact, const std::vector<std::string>& metrics,
                     TrialPhase state = TrialPhase::kPruned);

}  // namespace winnow
