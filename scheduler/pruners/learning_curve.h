#pragma once

#include <optional>

#include "scheduler/pruners/none.h"

namespace winnow {

// Stops a trial when its own learning curve (scheduler/pruners/curve_ensemble.h) predicts less than
// pruner.min_chance to beat the best objective so far, both at the end of its training and half of the way
// there. Where the last value or the mean counts (SearchSpec::objective_value), only the end is predicted,
// from the curve of the values or of their running average.
class LearningCurvePruner : public NoPruner {
 public:
  std::vector<Decision> Follow(const JobState& state, const FactBody& newest) const override;
};

// The same rule for pruners with rungs. Absent: min_chance is 0, it is too early (warm_up_resource,
// warm_up_trials), the trial's chance is better, or its end is not known. The curve is looked at only where
// the level passes a power of the square root of 2, so a trial costs O(log R) predictions.
std::optional<TrialEnded> StopByCurve(const JobState& state, const Reported& report);

}  // namespace winnow
