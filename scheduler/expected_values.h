#pragma once

#include <memory>
#include <optional>

#include "scheduler/state/job_state.h"

namespace winnow {

class TrialModel;
struct Prediction;

// What a model expects of a trial's configuration if it is trained again to its end.
struct ExpectedResult {
  TrialNumber trial = 0;
  double value = 0;  // of the objective, as objective.value counts it
  double error = 0;  // standard error of `value`, without the noise of the new training

  bool operator==(const ExpectedResult&) const = default;
};

// The expected values of a job's trials: the posterior means of the model that BAYESIAN uses (TrialModel),
// which knows the noise of the results. The best of many noisy results is partly luck; its posterior mean is
// drawn towards those of similar configurations. A function of the job's facts alone. The cost does not grow
// with the job beyond reading its results (TrialModel::kMostTrials). Nothing is expected of jobs with several
// objectives, with fewer than kLeastResults results or more than kMostJobTrials trials.
class ExpectedValues {
 public:
  static constexpr int64_t kLeastResults = 5;
  static constexpr size_t kMostJobTrials = 10'000;

  // `state` has to outlive this.
  explicit ExpectedValues(const JobState& state);

  // Absent: nothing is expected.
  std::optional<ExpectedResult> Of(TrialNumber trial) const;
  // The trial of the best expected value among those that have completed, are part of the model and satisfy
  // the constraints; ties by lower number. Absent: there is none.
  std::optional<ExpectedResult> Best() const;

 private:
  ExpectedResult ToValue(TrialNumber trial, const Prediction& end) const;

  const JobState& state_;
  std::shared_ptr<const TrialModel> model_;  // null: nothing is expected
};

}  // namespace winnow
