#pragma once

#include <optional>
#include <string>

#include "scheduler/state/facts.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// Trials that people keep from being pruned (TrialKept). Under pruners with rungs a kept trial is ranked like
// the others. Where its rank does not let it go on, it goes on beside the rungs, in one part to the highest
// level: there it takes no place of another trial, and nobody's cut-off counts it.

// "Kept by ana: it won last year." REQUIRES the trial is or was kept.
std::string KeptText(const JobState& state, const TrialState& trial);

// A paused trial that is kept goes on beside the rungs; `reason`: why it would have ended otherwise, or "".
// REQUIRES it is paused in a bracket.
TrialResumed GoesOnBeside(const JobState& state, const TrialState& trial, const std::string& reason);

// The kept trial that goes on beside the rungs once no other is promoted: the first that is paused where no
// cut is to come, and that the budget pays for.
std::optional<TrialResumed> KeptOnward(const JobState& state);
// The same where no cut will ever come, because nothing else runs or can be started.
std::optional<TrialResumed> LastKeptOnward(const JobState& state);

// After the part of a trial beside the rungs.
TrialEnded EndBeside(const JobState& state, const TrialState& trial);
// Why a kept trial that is still paused ends when nothing is left to do (CompletionMet).
std::string EndOfKept(const JobState& state, const TrialState& trial);
// A trial that went on only because it was kept, beside the rungs or in a bracket that has ended, ends once
// it is released.
std::optional<TrialEnded> AfterRelease(const JobState& state, const TrialKept& newest);

}  // namespace winnow
