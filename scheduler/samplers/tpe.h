#pragma once

#include "scheduler/samplers/sampler.h"

namespace winnow {

// Tree-structured Parzen estimator (Bergstra et al. 2011), multivariate and over one resource level as in
// BOHB (Falkner et al. 2018). Sobol points until StartupTrials have results; then of configurations drawn
// from the density of the best trials so far, the one where that is highest relative to the density of all
// others.
//   Level: the highest rung that more trials have passed than there are parameters; without rungs, the
//   value of each trial that has ended. Among the others are trials that were stopped below the level,
//   failed, or are still on their way there, so that trials which run at the same time differ (constant
//   liar). What the job was started with counts like its trials. Under HYPERBAND a third of the trials is
//   drawn at random, which keeps that pruner's guarantee (section 3.3 there).
class TpeSampler : public Sampler {
 public:
  std::optional<Suggestion> Draw(const JobState& state, TrialNumber number, int64_t redraw) const override;
  bool NeedsModel(const JobState& state) const override { return state.may_create() && !Next(state); }
  Suggested Suggest(const JobState& state) const override;
};

}  // namespace winnow
