#pragma once

#include "scheduler/pruners/none.h"

namespace winnow {

// For jobs whose configurations are repeated (SearchSpec::repeats): a part is one repeat. After each, the
// trial is compared with the best that has completed all its repeats, repeat by repeat: both had the same
// seed or fold. If the chance that its mean is better is below pruner.min_chance, by Student's t with the
// error of RepeatEffects, the trial is stopped. A clearly worse trial is stopped after one repeat. The best
// trial has completed all repeats. (Racing, as in Hutter et al., Sequential model-based optimization, LION
// 2011; a t-test as in Moore and Lee, ICML 1994.)
class PairedTestPruner : public NoPruner {
 public:
  std::optional<Opening> Open(const JobState& state, const Configuration& configuration) const override;
  Decision PartFinished(const JobState& state, const TrialState& trial) const override;
};

}  // namespace winnow
