#pragma once

#include <limits>
#include <vector>

#include "scheduler/state/facts.h"

namespace winnow {

inline std::vector<Fact> OneOfEachKind() {
  return {
      {1, 10, Reported{3, 1, 9, 0.75}},
      {2, 20, AttemptStarted{3, 2, 9, 27}},
      {3, 30, AttemptEnded{3, 2, AttemptOutcome::kFailed, "exit code 3: \"no\" memory\n", 1, 2}},
      {4, 40, CheckpointLost{3}},
      {5, 50, CheckpointTaken{3}},
      {6, 60, StopRequested{"stopped by request"}},
      {7, 70, TimeLimitReached{}},
      {8, 80, EarlierResult{{int64_t{5}, 0.5, std::string("sgd")}, 0.625, 27, "job old, trial 7"}},
      {9, 90, Noticed{3, NoticeKind::kBeyondBudget, "Trial 3 trains past its budget."}},
      {10, 100,
       Suggested{4,
                 {int64_t{7}, 0.125, std::string("adam")},
                 6,
                 "it promises most",
                 {12, -0.1, 1e-300},
                 SuggestionRule::kStraight,
                 81}},
      {11, 110, TrialCreated{4, {int64_t{7}, 0.125, std::string("adam")}, 1, 0, 9, "it promises most"}},
      {12, 120, TrialResumed{3, 1, 27, "2nd of 9"}},
      {13, 130, TrialPaused{3, 9}},
      {14, 140, TrialEnded{3, TrialEnd::kStopped, "ranked 5th of 9"}},
      {15, 150, RungCut{0, 1, 9, {3, 1, 2}, 1, 0.75}},
      {16, 160, BracketEnded{1, "behind bracket 1 at resource 9"}},
      {17, 170, CompletionMet{"auc has reached 0.75", false}},
      {18, 180, JobEnded{JobEnd::kCompleted, "all brackets are done"}},
      {19, 190, JobPaused{"ana", "the disk is full"}},
      {20, 200, JobResumed{"ana", ""}},
      {21, 210, LimitsChanged{"ana", "more budget", 20, 4, 900, 60'000'000, 0, 12.5}},
      {22, 220, TrialStopRequested{3, "ana", "too slow"}},
      {23, 230, ConfigurationEnqueued{{int64_t{7}, 0.125, std::string("adam")}, "ana", "it won last year"}},
      {24, 240, JobContinued{"ana", "ten trials more"}},
      {25, 250, SchedulingChanged{"ana", "it is urgent", -3, 2.5}},
      {26, 260, RangeChanged{"ana", "the best lie there", "eta", {0.125, 0.5}, false}},
      {27, 270, TrialKept{3, "ana", "it starts slowly"}},
  };
}

// Includes every outcome, end and limit, no bracket, no cut-off, empty lists and omitted values.
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
  facts.push_back({0, 0, RungCut{0, 0, 1, {2, 1}, 1, std::numeric_limits<double>::quiet_NaN(), {0.5, -2}}});
  facts.push_back({0, 0, AttemptStarted{1, 1, 0, 0}});
  facts.push_back({0, 0, AttemptStarted{1, 1, 0, 9, {"cpu", ""}, {0.25, 0}}});
  facts.push_back({0, 0, TimeLimitReached{TimeLimit::kNode}});
  facts.push_back({0, 0, TimeLimitReached{TimeLimit::kCost}});
  facts.push_back({0, 0, TrialCreated{1, {std::string("svm"), Inactive{}, 1.0}, -1, 0, 0}});
  facts.push_back({0, 0, EarlierResult{{Inactive{}}, std::numeric_limits<double>::infinity(), 0, ""}});
  facts.push_back({0, 0, Suggested{3, {}, 0, "resume it"}});
  facts.push_back({0, 0, Suggested{0, {}, 17, "nothing is worth training"}});
  facts.push_back({0, 0, CompletionMet{"nothing is left", true}});
  facts.push_back({0, 0, LimitsChanged{}});
  facts.push_back({0, 0, TrialKept{3, "ben", "", true}});
  facts.push_back(
      {0, 0, RangeChanged{"", "", "booster", {std::string("gbtree"), std::string("dart")}, true}});
  facts.push_back({0, 0, RangeChanged{"", "", "depth", {int64_t{1}, int64_t{1} << 60}, false}});
  return facts;
}

}  // namespace winnow
