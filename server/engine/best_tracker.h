#pragma once

#include <optional>

#include "scheduler/state/job_state.h"
#include "store/summaries.h"

namespace winnow {

// Follows a job's best value, which changes when a trial betters it or when the best trial fails or counts
// another value.
class BestTracker {
 public:
  // The step to `state`, reached at `time_us`. Absent: the best value is as it was.
  std::optional<BestStep> Note(const JobState& state, int64_t time_us) {
    const std::optional<TrialNumber> best = state.best_trial();
    if (!best) return std::nullopt;
    const double objective = state.trial(*best).value;
    if (last_ == objective) return std::nullopt;
    last_ = objective;
    return BestStep{state.last_sequence(), time_us, *best, objective, state.totals().resource};
  }

 private:
  std::optional<double> last_;
};

}  // namespace winnow
