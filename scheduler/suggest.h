#pragma once

#include <optional>

#include "scheduler/pruners/pruner.h"
#include "scheduler/state/facts.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// Where the next trial begins, if it is to have the first configuration of the queue. Absent: the queue is
// empty, the spec's own configurations are not all trials yet, or no further trial may be created.
std::optional<Opening> OpeningOfQueued(const JobState& state);

// A free slot waits for a model's answer: ask it (Suggest) and record what it says.
bool WantsSuggestion(const JobState& state);

// Asks the model what follows from `state` as it is; based_on is its last sequence. A function of the facts.
// Takes milliseconds: never on the coordinator's thread. REQUIRES WantsSuggestion(state).
Suggested Suggest(const JobState& state);

}  // namespace winnow
