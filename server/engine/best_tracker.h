#pragma once

#include <optional>

#include "scheduler/state/job_state.h"
#include "store/summaries.h"

namespace winnow {

// Notices when a job's best value changes: it betters, the trial that had it fails, or what trials count
// otherwise changes.
class BestTracker {
 public:
  // The step to `state`, which has come about at `time_us`; absent: the best is as it was.
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
