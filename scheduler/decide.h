#pragma once

#include <optional>
#include <set>
#include <vector>

#include "scheduler/state/facts.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// All decisions are const functions of the recorded facts: asking twice is harmless, and replaying the facts
// gives the same decisions whatever the parallelism was.

// What follows from the newest fact, in order. REQUIRES `newest` was the last one applied to `state`. The
// caller records each decision as a fact, applies it, and asks again about it before going on with the next.
std::vector<Decision> Decide(const JobState& state, const Fact& newest);

// Whether a decision that waits to be recorded has become void, because an earlier one closed the job. Such a
// decision is dropped.
bool IsMoot(const JobState& state, const FactBody& decision);

// Records an observed fact or an admission's decision and everything that follows from it, in order, numbered
// after state.last_sequence() and stamped with `time_us`. All of them are applied when it returns.
std::vector<Fact> Advance(JobState& state, int64_t time_us, FactBody body);

// What to do with room for one more trial cluster.
struct Admission {
  // A new trial (TrialCreated), a paused trial that goes on (TrialResumed), or the end of a waiting trial
  // that the limits forbid (TrialEnded); absent: run `trial`.
  std::optional<Decision> decision;
  // The trial to place; 0 if `decision` ends one. For TrialCreated: the new trial's number.
  TrialNumber trial = 0;
  int64_t from = 0;  // checkpoint to go on from
  int64_t to = 0;
};

// Ranks of the trial to place. REQUIRES admission.trial > 0.
inline int32_t NodesOf(const JobState& state, const Admission& admission) {
  const auto* created = admission.decision ? std::get_if<TrialCreated>(&*admission.decision) : nullptr;
  return created != nullptr ? state.spec().Nodes(created->configuration) : state.trial(admission.trial).nodes;
}

// What to do with the free slot: waiting trials first, then a paused trial that the pruner promotes, then a
// new one. Absent: the job has no work for a slot now (a barrier without another bracket, a limit, or the
// end), is paused, or waits for a model's answer (WantsSuggestion). Live attempts never exceed
// max_parallel_trials, nor units max_total_resource. `passed`: waiting trials that are to go on where there
// is no room for them now; units are left for them.
std::optional<Admission> Admit(const JobState& state, const std::set<TrialNumber>& passed = {});

}  // namespace winnow
