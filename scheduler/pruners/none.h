#pragma once

#include "scheduler/pruners/pruner.h"

namespace winnow {

// Trains every trial to its end: the trainer's own, or limits.max_trial_resource if that is lower.
class NoPruner : public Pruner {
 public:
  std::optional<Opening> Open(const JobState& state, const Configuration& configuration) const override;
  Decision PartFinished(const JobState& state, const TrialState& trial) const override;
  std::vector<Decision> Follow(const JobState& state, const FactBody& newest) const override;
};

}  // namespace winnow
