#pragma once

#include <optional>

#include "scheduler/samplers/sampler.h"
#include "scheduler/samplers/trial_model.h"
#include "scheduler/state/job_state.h"

namespace winnow {

struct Proposal {
  Configuration configuration;
  Prediction end;              // in the model's units
  double log_improvement = 0;  // of the expected improvement over the model's bar
};

// The configuration of largest expected improvement that was found: many candidates, over the whole space and
// around the best known ones, of which the most promising are polished: numbers by L-BFGS along the gradient,
// categories by trying each. It keeps conditions and constraints and was not tried before; absent: none such
// was found. A function of the state: candidates are drawn by the job's seed and the facts' count. REQUIRES
// !model.empty().
std::optional<Proposal> Propose(const JobState& state, const TrialModel& model);

// Returns, of many points over the whole space, the one with the largest mean plus two deviations. REQUIRES
// as above.
Suggestion LeastKnown(const JobState& state, const TrialModel& model);

}  // namespace winnow
