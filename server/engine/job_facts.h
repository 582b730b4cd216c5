#pragma once

#include <functional>

#include "absl/status/status.h"
#include "scheduler/state/job_state.h"
#include "store/facts.h"
#include "store/jobs.h"

namespace winnow {

// Applies to `state` the job's facts that it does not have yet, in order; `applied` is told of each.
// DATA_LOSS names the job and the first fact that is missing, cannot be read or contradicts those before it;
// then `state` has those before it.
absl::Status ApplyFacts(FactTable& facts, const JobRow& row, JobState& state,
                        const std::function<void(const Fact&)>& applied);

// What a fact changes in its job's row: state, reason and end.
void NoteInRow(const Fact& fact, JobRow& row);

}  // namespace winnow
