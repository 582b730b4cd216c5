#pragma once

#include <optional>
#include <string>

#include "scheduler/samplers/sampler.h"
#include "scheduler/samplers/trial_model.h"
#include "scheduler/state/job_state.h"

namespace winnow {

struct Proposal {
  Configuration configuration;
  Prediction end;              // in the model's units
  double score = 0;    // logarithm of the expected improvement over the model's bar, and what priors add
  std::string priors;  // PriorWeights::Text
};

// The configuration of the largest expected improvement that was found, weighted by the job's priors
// (samplers/priors.h). Many candidates are drawn over the
// whole space and around the best known ones, and the most promising are improved: numbers by L-BFGS along
// the gradient, categories by trying each. It keeps conditions and constraints, was not tried before, and
// is not so near to a known one that it would repeat its reports (samplers/indifference.h); absent: no such
// one was found. A function of the state: candidates are drawn by the job's seed and the number of facts.
// REQUIRES !model.empty().
std::optional<Proposal> Propose(const JobState& state, const TrialModel& model);

}  // namespace winnow
