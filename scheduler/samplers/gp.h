#pragma once

#include "scheduler/samplers/gp_proposal.h"
#include "scheduler/samplers/sampler.h"

namespace winnow {

// Bayesian optimisation with a Gaussian process (samplers/trial_model.h) and expected improvement
// (samplers/gp_proposal.h), after StartupTrials Sobol points and as many results; where trials are whole,
// every other one of these trials but the first four is the model's. With several objectives or metric
// constraints: one process for each, and expected improvement of the hypervolume, times the chance of being
// feasible (samplers/pareto_model.h).
class GpSampler : public Sampler {
 public:
  std::optional<Suggestion> Draw(const JobState& state, TrialNumber number, int64_t redraw) const override;
  bool NeedsModel(const JobState& state) const override { return state.may_create() && !Next(state); }
  Suggested Suggest(const JobState& state) const override;
};

// Ranges tend to be declared around what is usual: their centre is the first trial that is not the user's own
// (as in Vizier, Song et al., AutoML 2022), or the second, after the values of priors. Under FREEZE_THAW, and
// with several objectives. Absent: `number` is another trial, it is not the GP's to choose, or not allowed.
std::optional<Suggestion> CentreOf(const JobState& state, TrialNumber number);

// "expected auc 0.78 (0.77 to 0.79) at resource 81, 23 % chance to beat the 0.775 of trial 4": what the model
// predicts, the middle 90 % in brackets. `end` in the model's units.
std::string Expectation(const JobState& state, const TrialModel& model, const Prediction& end);

// The chance of beating the best, 0 to 1.
double ChanceToBeat(const Prediction& end, double best);

}  // namespace winnow
