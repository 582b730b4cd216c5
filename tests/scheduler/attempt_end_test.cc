#include "scheduler/attempt_end.h"

#include "tests/catch.h"

namespace winnow {
namespace {

using enum AttemptOutcome;
using Cause = FailureCause;

RankEnd End(AttemptOutcome outcome, const std::string& reason = "", Cause cause = Cause::kTrainer,
            int64_t end_us = 9) {
  return {outcome, reason, 1, end_us, cause};
}

TEST_CASE("Attempt end: what is recorded of a rank that ends", "[scheduler]") {
  struct Row {
    const char* what;
    RankEnd said;
    RankState state;
    RankPhase phase;
    AttemptOutcome outcome;
    const char* reason;
    Cause cause;
  };
  const auto wanted = RankState::kWanted, revoked = RankState::kRevoked, drained = RankState::kDrained;
  const auto started = RankPhase::kStarted, placed = RankPhase::kPlaced, prepared = RankPhase::kPrepared;
  const Row rows[] = {
      {"finished", End(kFinished), wanted, started, kFinished, "", Cause::kTrainer},
      {"failed by itself", End(kFailed, "exit code 3"), wanted, started, kFailed, "exit code 3",
       Cause::kTrainer},
      {"failed with a cause", End(kFailed, "oom", Cause::kOutOfMemory), wanted, started, kFailed, "oom",
       Cause::kOutOfMemory},
      {"a cause is a failure's alone", End(kLost, "gone", Cause::kTimeLimit), wanted, started, kLost, "gone",
       Cause::kTrainer},
      {"finished before it could start", End(kFinished), wanted, placed, kFailed,
       "it ended before all ranks were prepared", Cause::kNotStarted},
      {"finished when only some were prepared", End(kFinished), revoked, prepared, kFailed,
       "it ended before all ranks were prepared", Cause::kNotStarted},
      {"finished although it was to stop", End(kFinished), revoked, started, kStopped, "", Cause::kTrainer},
      {"stopped as it was asked to", End(kStopped, "signal"), revoked, started, kStopped, "signal",
       Cause::kTrainer},
      {"had failed before it was stopped", End(kFailed, "exit code 3"), revoked, started, kFailed,
       "exit code 3", Cause::kTrainer},
      {"lost while it was to stop", End(kLost, "silent"), revoked, started, kLost, "silent", Cause::kTrainer},
      {"handed back while it was to stop", End(kHandedBack, "preempted"), revoked, started, kHandedBack,
       "preempted", Cause::kTrainer},
      {"handed back without a reason", End(kHandedBack), wanted, started, kHandedBack, "maintenance",
       Cause::kTrainer},
      {"drained", End(kStopped, "signal"), drained, started, kHandedBack, "worker a is drained",
       Cause::kTrainer},
      {"failed while it was drained", End(kFailed, "x", Cause::kNotStarted), drained, started, kHandedBack,
       "worker a is drained", Cause::kTrainer},
      {"finished while it was drained", End(kFinished), drained, started, kHandedBack, "worker a is drained",
       Cause::kTrainer},
      {"lost while it was drained", End(kLost, "silent"), drained, started, kLost, "worker a is drained",
       Cause::kTrainer},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const RankEnd end = RecordedEnd(row.said, row.state, row.phase, "worker a is drained", "maintenance");
    CHECK(end.outcome == row.outcome);
    CHECK(end.reason == row.reason);
    CHECK(end.cause == row.cause);
    CHECK(end.start_us == 1);
    CHECK(end.end_us == 9);
  }
}

TEST_CASE("Attempt end: how an attempt ended, from the ends of its ranks", "[scheduler]") {
  struct Row {
    const char* what;
    std::vector<RankEnd> ranks;
    AttemptOutcome outcome;
    const char* reason;
  };
  const RankEnd done = End(kFinished), stopped = End(kStopped);
  const Row rows[] = {
      {"one rank", {done}, kFinished, ""},
      {"the reason of rank 0", {End(kFinished, "no loss"), End(kFinished, "other")}, kFinished, "no loss"},
      {"one rank fails", {End(kFailed, "exit code 3")}, kFailed, "exit code 3"},
      {"a rank fails, the others are stopped",
       {stopped, End(kFailed, "exit code 3")},
       kFailed,
       "rank 1: exit code 3"},
      {"a loss before a failure", {End(kFailed, "x"), End(kLost, "silent")}, kLost, "rank 1: silent"},
      {"a loss before a leaving",
       {End(kHandedBack, "leaves"), End(kLost, "silent")},
       kLost,
       "rank 1: silent"},
      {"a leaving before a failure",
       {End(kFailed, "x"), End(kHandedBack, "leaves")},
       kHandedBack,
       "rank 1: leaves"},
      {"the earliest own failure",
       {End(kFailed, "b", Cause::kTrainer, 8), End(kFailed, "a", Cause::kOutOfMemory, 5)},
       kFailed,
       "rank 1: a"},
      {"an own failure before lost ranks",
       {End(kFailed, "no peers", Cause::kRanksGone, 2), End(kFailed, "exit code 3", Cause::kTrainer, 8)},
       kFailed,
       "rank 1: exit code 3"},
      {"lost ranks alone are the machines' fault",
       {stopped, End(kFailed, "no peers", Cause::kRanksGone)},
       kLost,
       "rank 1: no peers"},
      {"what could not start is the machine's fault",
       {End(kFailed, "no port", Cause::kNotStarted)},
       kLost,
       "no port"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const AttemptEnded ended = EndOfAttempt(4, 2, row.ranks, false);
    CHECK(ended.trial == 4);
    CHECK(ended.attempt == 2);
    CHECK(ended.outcome == row.outcome);
    CHECK(ended.reason == row.reason);
    CHECK(ended.started_us == row.ranks[0].start_us);
    CHECK(ended.ended_us >= row.ranks[0].end_us);
    const AttemptEnded of_ended_trial = EndOfAttempt(4, 2, row.ranks, true);
    CHECK(of_ended_trial.outcome == kStopped);
    CHECK(of_ended_trial.reason.empty());
  }
}

TEST_CASE("Attempt end: the nodes of a gang are held until its last rank has ended", "[scheduler]") {
  const RankEnd leader{kFinished, "", 1000, 1010, Cause::kTrainer};
  const RankEnd by_another_clock{kFailed, "it hung", 500, 900, Cause::kTimeLimit},
      unstarted{kStopped, "", 0, 5000, {}};
  CHECK(EndOfAttempt(1, 1, {leader, by_another_clock, unstarted}, false).ended_us == 1400);
  CHECK(EndOfAttempt(1, 1, {leader, unstarted}, true).ended_us == 1010);
  CHECK(EndOfAttempt(1, 1, {unstarted, leader}, false).ended_us == 5000);
}

}  // namespace
}  // namespace winnow
