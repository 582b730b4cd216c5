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
    improved_ = !last_ || (state.spec().goal == Goal::kMaximize ? objective > *last_ : objective < *last_);
    last_ = objective;
    return BestStep{state.last_sequence(), time_us, *best, objective, state.totals().resource};
  }
  // Whether the newest step was to a better value.
  bool improved() const { return improved_; }

 private:
  std::optional<double> last_;
  bool improved_ = false;
};

}  // namespace winnow
