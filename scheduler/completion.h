#pragma once

#include <optional>

#include "scheduler/state/facts.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// The completion rule that `newest`, the last fact applied, meets for the first time; absent: none.
//
// target_objective: a trial reported it, or better. Where the last value or the mean counts
// (SearchSpec::objective_value), a trial that has completed counts it, or better.
//
// no_improvement_trials = N: the last N trials that ended, in the order of their ends, did not better the
// best of those before them by more than no_improvement_tolerance of its magnitude.
//
// convergence_tolerance: twice as many trials would better the best by less than this part of its magnitude.
// For draws from a distribution with an exponential tail, the spacings i (y_i - y_i+1) of the best values y_1
// >= y_2 >= … are independent with the tail's scale as their mean (Rényi 1953), and doubling the number of
// draws betters the best by ln 2 of that scale on average. The scale is the mean over the best quarter, at
// least 5 of at least 20 ended trials.
//
// limits.max_first_failures = N: N trials were failed by their trainer (not by the machines) with the same
// words, or four times as many with any, before any trial of the job had reported a value, and so were all
// others that existed at that moment. These may have been healthy and slow; those that are created meanwhile
// are not waited for.
//
// An ended trial counts with its value (TrialState::value); one that failed, has no finite one, or has not
// completed where the last value or the mean counts, only counts among the N.
//
// Neither of no_improvement_trials and convergence_tolerance is met while a trial that has not ended is
// better than the best by more than the tolerance: the losers of a rung's cut end long before its survivors.
std::optional<CompletionMet> CompletionOf(const JobState& state, const FactBody& newest);

}  // namespace winnow
