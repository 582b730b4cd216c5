#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/state/job_state.h"

namespace winnow {

// The Pareto front of a job with several objectives, as people see it. Values are those of the objectives,
// not keys; the hypervolume is in units of their product.
struct FrontSummary {
  struct Member {
    TrialNumber number = 0;
    std::vector<double> values;
    double own_hypervolume = 0;  // what the hypervolume would lose without it
  };
  struct Step {
    TrialNumber trial = 0;  // whose end added to the hypervolume
    int64_t time_us = 0;
    int64_t resource = 0;  // units trained by all trials that had ended by then
    double hypervolume = 0;
  };

  std::vector<double> reference;  // ReferenceOf all trials that count; empty: none does
  std::vector<Member> members;    // JobState::front, the best of the first objective first
  double hypervolume = 0;
  std::vector<Step> history;  // by the order in which trials ended, all with the reference above
  int64_t infeasible = 0;     // trials that have ended, not failed, and violate a constraint
};

// REQUIRES several objectives. `most_steps`: the history keeps the first and the newest steps, and others
// evenly; at least 2.
FrontSummary SummaryOf(const JobState& state, size_t most_steps);

}  // namespace winnow
