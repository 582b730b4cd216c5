#pragma once

#include "scheduler/samplers/sampler.h"
#include "scheduler/state/facts.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// What a free slot of a FREEZE_THAW job is worth most for: a new trial to the lowest rung, or a paused one to
// its next rung. In this order:
//
// - Start: initial configurations, then the centre of the space and Sobol points, StartupTrials of them. Of
//   all these the best 1 / eta of every rung but the last two go on, as in ASHA.
// - Straight: new trials that are trained to the end at once, chosen by a Gaussian process that knows only
//   finished trials, as in Bayesian optimisation without early stopping. Where the beginnings of curves
//   mislead, these do not, and they show whether beginnings do.
// - Breadth: ASHA's promotions (arXiv 1810.05934), and if there is none Sobol points, whatever the model
// says.
// - Density: ASHA's promotions, and if there is none configurations of TPE.
// - Model: samplers/trial_model.h predicts where every paused trial would end, and where the sampler's new
//   configuration would. The choice is the largest expected improvement over the best value known, divided by
//   the training it is expected to cost: the part to the next rung, and if the trial turns out to beat the
//   best, which has the chance that is predicted, the rest. The longer a job runs, the more a new trial has
//   to be worth (NewPenalty): what is predicted of it has not been tested by a single report.
//
// With several objectives only the model trains on a trial of the front that training has made worse
// (samplers/worsening.h).
//
// samplers/rule_shares.h says how much of the training each gets, by what it has found so far. With several
// objectives the model's rule alone chooses near the end of max_total_resource. With one rung alone there is
// nothing to stop early: the sampler's new trials are trained to the end.
//
// What a part costs before its first unit (scheduler/state/startup.h) counts like units: in the shares, in
// the price of a part and of what may follow it. A part trains at least as many units as its start-up costs,
// so that the lowest rungs are skipped where that is much.
//
// Only what the rest of max_total_resource pays for is chosen. When no new trial may start (limits, an
// exhausted space), paused ones go on as long as one has a chance of at least kLeastChance to beat the best,
// and the best itself to its end; then nothing is worth training any more (Suggested::trial = 0).
class FreezeThawSampler : public Sampler {
 public:
  // A new trial is always weighed against the paused ones, by the model.
  std::optional<Suggestion> Draw(const JobState&, TrialNumber, int64_t) const override {
    return std::nullopt;
  }
  std::optional<Suggestion> Next(const JobState&) const override { return std::nullopt; }
  bool NeedsModel(const JobState& state) const override {
    return state.may_create() || state.totals().paused > 0;
  }
  Suggested Suggest(const JobState& state) const override;
};

}  // namespace winnow
