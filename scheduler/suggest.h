#pragma once

#include <optional>

#include "scheduler/facts.h"
#include "scheduler/job_state.h"
#include "scheduler/samplers/sampler.h"

namespace winnow {

// What to try next, whatever the sampler: the user's own configurations first, and on a finite space nothing
// twice.

// Whether limits and the space allow another trial.
bool MayCreate(const JobState& state);

// At once. Absent: no further trial may be created, or a model has to be asked.
std::optional<Suggestion> DrawNext(const JobState& state);

// Any configuration that keeps the constraints; of a finite space that is not exhausted, one that was not
// tried.
Configuration AnyConfiguration(const JobState& state, TrialNumber number);

// A free slot waits for a model's answer: ask it (Suggest) and record what it says.
bool WantsSuggestion(const JobState& state);

// Asks the model what follows from `state` as it is; based_on is its last sequence. A function of the facts.
// Takes milliseconds: never on the coordinator's thread. REQUIRES WantsSuggestion(state).
Suggested Suggest(const JobState& state);

}  // namespace winnow
