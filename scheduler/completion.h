#pragma once

#include <optional>

#include "scheduler/state/facts.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// The completion rule that `newest`, the last applied fact, meets for the first time; absent: none.
//
// target_objective: a trial reported the target or better. Where the last value or the mean counts
// (SearchSpec::objective_value), a trial has to complete with the target or better.
//
// target_hypervolume: at the end of a trial the hypervolume of the Pareto front is the target or more.
//
// no_improvement_trials = N: the last N trials that ended, in the order of their ends, improved the best
// value of the trials before them by no more than no_improvement_tolerance of its magnitude.
//
// convergence_tolerance: twice as many trials would improve the best value by less than this part of its
// magnitude. For draws from a distribution with an exponential tail, the spacings i (y_i - y_i+1) of the best
// values y_1 >= y_2 >= … are independent and their mean is the scale of the tail (Rényi 1953); twice as many
// draws improve the best by ln 2 of that scale on average. The scale is the mean over the best quarter of the
// values, at least 5 of at least 20.
//
// limits.max_first_failures = N: before any trial reported a value, the trainer (not the machines) failed N
// trials with the same message, or 4 N with any messages, and all other trials that existed at that moment
// failed too. Those others may be healthy and slow, so they are waited for; trials created later are not.
//
// An ended trial counts with its value (TrialState::value). A trial that failed, has no finite value, or
// where the last value or the mean counts has not completed, counts only among the N.
//
// With several objectives the hypervolume of the front at each end stands for the best value. A trial that
// violates a metric constraint counts as one without a value.
//
// no_improvement_trials and convergence_tolerance wait while a trial that has not ended is better than the
// best by more than the tolerance, because the losers of a cut end long before its survivors.
std::optional<CompletionMet> CompletionOf(const JobState& state, const FactBody& newest);

}  // namespace winnow
