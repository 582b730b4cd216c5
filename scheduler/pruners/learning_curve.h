#pragma once

#include <optional>

#include "scheduler/pruners/none.h"

namespace winnow {

// Stops a trial when its own learning curve (scheduler/pruners/curve_ensemble.h) says that its chance to beat
// the best objective so far, at the end of its training or on half of the way there, is below
// pruner.min_chance. Where the last value or the mean counts (SearchSpec::objective_value), the end alone is
// asked for, and the curve is that of the values, or of their running average.
class LearningCurvePruner : public NoPruner {
 public:
  std::vector<Decision> Follow(const JobState& state, const FactBody& newest) const override;
};

// The same rule inside of the pruners with rungs. Absent: min_chance is 0, it is too early (warm_up_resource,
// warm_up_trials), the trial has better chances, or its last level has no known end. Looked at where the
// level passes a power of the square root of 2, and only there: O(log R) predictions a trial.
std::optional<TrialEnded> StopByCurve(const JobState& state, const Reported& report);

}  // namespace winnow
