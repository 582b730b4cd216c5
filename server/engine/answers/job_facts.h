#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/state/job_state.h"
#include "server/engine/answers/requester.h"
#include "store/facts.h"
#include "store/jobs.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Applies the job's facts that `state` does not have yet, in order, and calls `applied` after each. DATA_LOSS
// names the job and the first fact that is missing, cannot be read or contradicts earlier ones; then `state`
// has the facts before it.
absl::Status ApplyFacts(FactTable& facts, const JobRow& row, JobState& state,
                        const std::function<void(const Fact&)>& applied);

// The spec as a job's row has it (ToStoredJson). DATA_LOSS: it cannot be read.
absl::StatusOr<v1::TuningJobSpec> SpecFromJson(const std::string& json);

// The row of a job that `by` may change. NOT_FOUND; PERMISSION_DENIED.
absl::StatusOr<JobRow> FindChangeable(JobTable& jobs, const std::string& id, const Requester& by);

// What a fact changes in its job's row: state, reason and end.
void NoteInRow(const Fact& fact, JobRow& row);

}  // namespace winnow
