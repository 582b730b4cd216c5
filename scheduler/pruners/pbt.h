#pragma once

#include "scheduler/pruners/pruner.h"

namespace winnow {

// Population based training (Jaderberg et al., arXiv 1711.09846), by generations. All trials of the
// population are trained to a rung. When every one has arrived, the worst 1 / reduction_factor of them, and
// those that failed, end (exploit): in place of each a new trial begins from the checkpoint of one of the
// best 1 / reduction_factor, drawn at random, with its configuration perturbed (explore; perturbation.h). The
// others go on. So a trial keeps its configuration, and a schedule is a line of trials, each of which begins
// where its origin was (TrialState::origin). Within max_trials: where no further trial may be created, the
// worst go on as they are.
class PbtPruner : public Pruner {
 public:
  std::optional<Opening> Open(const JobState& state, const Configuration& configuration) const override;
  Decision PartFinished(const JobState& state, const TrialState& trial) const override;
  std::vector<Decision> Follow(const JobState& state, const FactBody& newest) const override;
  std::string EndOfPaused(const JobState& state, const TrialState& trial) const override;
};

}  // namespace winnow
