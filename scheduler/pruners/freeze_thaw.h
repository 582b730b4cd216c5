#pragma once

#include "scheduler/pruners/pruner.h"

namespace winnow {

// Freeze-thaw (Swersky, Snoek and Adams, arXiv 1406.3896): every trial pauses at every rung, and whenever a
// slot is free a model says which paused trial goes on to its next rung or what new one starts
// (pruners/freeze_thaw_choice.h). This part follows what it says.
class FreezeThawPruner : public Pruner {
 public:
  std::optional<Opening> Open(const JobState& state, const Configuration& configuration) const override;
  std::optional<TrialResumed> Promote(const JobState& state) const override;
  Decision PartFinished(const JobState& state, const TrialState& trial) const override;
  std::vector<Decision> Follow(const JobState& state, const FactBody& newest) const override;
  std::string EndOfPaused(const JobState& state, const TrialState& trial) const override;
};

}  // namespace winnow
