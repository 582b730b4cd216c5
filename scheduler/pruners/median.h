#pragma once

#include "scheduler/pruners/none.h"

namespace winnow {

// The median stopping rule (Golovin et al., Google Vizier, KDD 2017, section 3.2.2): a trial is stopped at a
// level if its best value so far is strictly worse than the median of the running averages, up to that level,
// of the completed trials. Where the last value or the mean counts (SearchSpec::objective_value), the trial's
// value at the level, or its own running average, is compared instead of its best. No trial is stopped below
// warm_up_resource, or before warm_up_trials have completed.
class MedianPruner : public NoPruner {
 public:
  std::vector<Decision> Follow(const JobState& state, const FactBody& newest) const override;
};

}  // namespace winnow
