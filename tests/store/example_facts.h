#pragma once

#include <limits>
#include <vector>

#include "scheduler/facts.h"

namespace winnow {

inline std::vector<Fact> OneOfEachKind() {
  return {
      {1, 10, Reported{3, 1, 9, 0.75}},
      {2, 20, AttemptStarted{3, 2, 9, 27}},
      {3, 30, AttemptEnded{3, 2, AttemptOutcome::kFailed, "exit code 3: \"no\" memory\n", 1, 2}},
      {4, 40, CheckpointLost{3}},
      {5, 50, StopRequested{"stopped by request"}},
      {6, 60, TimeLimitReached{}},
      {7, 70, TrialCreated{4, {int64_t{7}, 0.125, std::string("adam")}, 1, 0, 9}},
      {8, 80, TrialResumed{3, 1, 27, "2nd of 9"}},
      {9, 90, TrialPaused{3, 9}},
      {10, 100, TrialEnded{3, TrialEnd::kStopped, "ranked 5th of 9"}},
      {11, 110, RungCut{0, 1, 9, {3, 1, 2}, 1, 0.75}},
      {12, 120, JobEnded{JobEnd::kCompleted, "all brackets are done"}},
  };
}

// Further shapes: every outcome and end, no bracket, no cut-off, empty lists.
inline std::vector<Fact> ExampleFacts() {
  std::vector<Fact> facts = OneOfEachKind();
  for (AttemptOutcome outcome : {AttemptOutcome::kFinished, AttemptOutcome::kLost,
                                 AttemptOutcome::kHandedBack, AttemptOutcome::kStopped}) {
    facts.push_back({0, 0, AttemptEnded{1, 1, outcome, "", 0, 0}});
  }
  for (TrialEnd end : {TrialEnd::kCompleted, TrialEnd::kFailed})
    facts.push_back({0, 0, TrialEnded{1, end, ""}});
  for (JobEnd end : {JobEnd::kStopped, JobEnd::kFailed}) facts.push_back({0, 0, JobEnded{end, "x"}});
  facts.push_back({0, 0, TrialCreated{1, {}, -1, 0, 0}});
  facts.push_back({0, 0, RungCut{2, 0, 1, {}, 0, std::numeric_limits<double>::quiet_NaN()}});
  facts.push_back({0, 0, AttemptStarted{1, 1, 0, 0}});
  return facts;
}

}  // namespace winnow
