#include "server/reads/expectations.h"

#include "scheduler/expected_values.h"
#include "server/engine/answers/job_view.h"

namespace winnow {
namespace {

constexpr size_t kMostKnownJobs = 256;
// Reading more facts than that takes too long.
constexpr int64_t kMostFacts = 300'000;

}  // namespace

absl::Status Expectations::Complete(v1::TuningJob& job) {
  if (!job.has_best() || job.best().has_expected() || job.last_sequence() > kMostFacts)
    return absl::OkStatus();
  return store_.Read([&]() -> absl::Status {
    const absl::StatusOr<const JobView*> view = views_.Get(job.id());
    if (!view.ok()) return view.status();
    const JobState& state = (*view)->state;
    if (state.trials().size() > ExpectedValues::kMostJobTrials) return absl::OkStatus();
    const JobTotals& totals = state.totals();
    const std::pair<int64_t, int64_t> as_of(
        (*view)->row.key, totals.completed + totals.pruned + totals.failed + totals.cancelled);
    const TrialNumber seen = state.best_trial().value_or(0);
    auto found = known_.find(job.id());
    if (found == known_.end() || found->second.as_of != as_of || found->second.seen != seen) {
      if (known_.size() >= kMostKnownJobs) known_.clear();
      found = known_.insert_or_assign(job.id(), Known{as_of, seen, HandedOut(state, (*view)->spec)}).first;
    }
    if (!found->second.best) return absl::OkStatus();
    // Its value is that of now; only what is expected of it is as old as the last trial that ended.
    const v1::BestTrial& known = *found->second.best;
    *job.mutable_best() = BestMessage(state, known.trial());
    if (known.has_expected()) job.mutable_best()->set_expected(known.expected());
    if (known.has_expected_error()) job.mutable_best()->set_expected_error(known.expected_error());
    return absl::OkStatus();
  });
}

}  // namespace winnow
