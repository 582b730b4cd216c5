#include "scheduler/decide.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduler/replay.h"
#include "scheduler/suggest.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

TEST_CASE("Decide: RANDOM trains every trial to its level and completes", "[scheduler]") {
  PlayedJob job(RandomJob(2, 5));
  REQUIRE(job.StartAll() == 2);
  job.Finish(1, 0.5);
  job.Finish(2, 0.7);
  CHECK(job.trial(1).reason == "Trained to resource 5, its budget.");
  REQUIRE(job.state().ended());
  CHECK(job.state().ended()->end == JobEnd::kCompleted);
  CHECK(job.state().ended()->reason == "All 2 trials have ended.");
  CHECK(job.state().best_trial() == 2);
  CHECK(Verify(job.state().spec(), job.facts()).ok());
}

TEST_CASE("Decide: RANDOM goes to the trainer's own end where that is lower", "[scheduler]") {
  SearchSpec spec = RandomJob(20, 15);
  spec.parameters = {{"rounds", IntegerRange{1, 1000, Scaling::kLog}}};
  spec.own_end_parameter = 0;
  PlayedJob job(spec);
  REQUIRE(job.StartAll() == 20);
  for (const TrialState& trial : job.state().trials()) {
    CHECK(trial.to == std::min<int64_t>(15, std::get<int64_t>(trial.configuration[0])));
  }
}

TEST_CASE("Decide: a trainer that prints no objective fails its trial, and the job if none does",
          "[scheduler]") {
  PlayedJob job(RandomJob(1, 5));
  job.Start();
  job.End(1, AttemptOutcome::kFinished);
  CHECK(job.trial(1).phase == TrialPhase::kFailed);
  CHECK(job.trial(1).reason == "It ended without a value of score.");
  REQUIRE(job.state().ended());
  CHECK(job.state().ended()->end == JobEnd::kFailed);
  CHECK(job.state().ended()->reason.find("Its only trial failed: It ended without a value of score.") == 0);
}

TEST_CASE("Decide: what the worker says of a program that printed no objective is the reason",
          "[scheduler]") {
  SearchSpec spec = RandomJob(20, 5);
  spec.limits.max_first_failures = 3;
  PlayedJob job(spec);
  for (int trial = 1; trial <= 3; ++trial) {
    job.Start();
    job.End(trial, AttemptOutcome::kFinished,
            "The last line was `step 3 Loss: 0." + std::to_string(trial) + "`.");
  }
  CHECK(job.trial(1).reason == "The last line was `step 3 Loss: 0.1`.");
  CHECK(job.state().closing());  // lines that differ are one failure
  REQUIRE(job.state().failures().by_reason().size() == 1);
  CHECK(job.state().failures().by_reason().begin()->first == job.trial(1).reason);
  CHECK(job.state().failures().by_reason().begin()->second.trials == 3);
}

TEST_CASE("Decide: a job whose values are all NaN has failed", "[scheduler]") {
  PlayedJob job(RandomJob(1, 5));
  job.Start();
  job.Finish(1, std::numeric_limits<double>::quiet_NaN());
  CHECK(job.trial(1).phase == TrialPhase::kFailed);
  CHECK(job.trial(1).reason == "Diverged: score was nan at resource 5.");
  CHECK(job.state().ended()->end == JobEnd::kFailed);
  CHECK_FALSE(job.state().best_trial());
}

TEST_CASE("Decide: a value that is not finite fails its running trial at once, under every strategy",
          "[scheduler]") {
  for (const PrunerKind pruner : kPruners) {
    for (const double value : {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, -HUGE_VAL}) {
      CAPTURE(static_cast<int>(pruner), value);
      SearchSpec spec = pruner == PrunerKind::kNone || pruner == PrunerKind::kMedian ? RandomJob(9, 27)
                                                                                     : HyperbandJob(27, 3, 9);
      spec.sampler.kind = SamplerKind::kSobol;
      spec.pruner.kind = pruner;
      spec.pruner.rungs.min_resource = 9;
      if (pruner == PrunerKind::kPbt) spec.pruner.bracket_trials = 9;
      PlayedJob job(spec);
      if (WantsSuggestion(job.state())) job.Record(Suggest(job.state()));
      REQUIRE(job.Start() == 1);
      job.Report(1, 1, 0.9);
      REQUIRE_FALSE(job.trial(1).ended());
      job.Report(1, 2, value);
      CHECK(job.trial(1).phase == TrialPhase::kFailed);
      CHECK(job.trial(1).live);  // until its worker has stopped it
      CHECK_FALSE(job.state().best_trial());
      job.End(1, AttemptOutcome::kStopped);
      CHECK_FALSE(job.state().ended());
    }
  }
}

TEST_CASE("Decide: trials that diverged are one kind of failure, and do not end a job that has reported",
          "[scheduler]") {
  SearchSpec spec = RandomJob(0, 5);
  spec.limits.max_total_resource = 100;
  spec.limits.max_first_failures = 2;
  PlayedJob job(spec);
  for (int trial = 1; trial <= 4; ++trial) {
    REQUIRE(job.Start() == trial);
    job.Report(trial, trial, std::numeric_limits<double>::quiet_NaN());
    job.End(trial, AttemptOutcome::kStopped);
  }
  CHECK_FALSE(job.state().closing());
  REQUIRE(job.state().failures().by_reason().size() == 1);
  CHECK(job.state().failures().by_reason().begin()->first == "Diverged: score was nan at resource 1.");
  CHECK(job.state().failures().by_reason().begin()->second.trials == 4);
}

TEST_CASE("Decide: a failed trial is never best, and a job of failures has failed", "[scheduler]") {
  PlayedJob job(RandomJob(2, 5));
  job.StartAll();
  job.Report(1, 1, 0.9);
  job.End(1, AttemptOutcome::kFailed);
  job.Report(2, 1, 0.1);
  CHECK(job.state().best_trial() == 2);
  job.End(2, AttemptOutcome::kFailed);
  CHECK_FALSE(job.state().best_trial());
  REQUIRE(job.state().ended());
  CHECK(job.state().ended()->end == JobEnd::kFailed);
}

TEST_CASE("Decide: what a newer checkpoint holds is not counted as trained again", "[scheduler]") {
  SearchSpec spec = RandomJob(1, 10);
  spec.limits.max_attempts = 2;
  PlayedJob job(spec);
  job.Start();
  for (int64_t level = 1; level <= 4; ++level) job.Report(1, level, 0.5);
  job.End(1, AttemptOutcome::kFailed);
  job.Start();
  job.Report(1, 5, 0.6);  // it had saved level 4
  CHECK(job.state().totals().resource == 5);
  CHECK(job.state().totals().reserved_resource == 5);
}

TEST_CASE("Decide: a trial whose checkpoint is out of reach trains all again, if the limits allow",
          "[scheduler]") {
  SearchSpec spec = HyperbandJob(9, 3);
  spec.limits.max_total_resource = 1000;
  PlayedJob job(spec);
  for (int i = 0; i < 9; ++i) job.Start();
  for (TrialNumber n = 1; n <= 9; ++n) job.Finish(n, static_cast<double>(n));
  REQUIRE(Admit(job.state())->trial == 7);
  CHECK(Admit(job.state())->from == 1);
  job.Record(CheckpointLost{7});
  CHECK(Admit(job.state())->trial == 7);
  CHECK(Admit(job.state())->from == 0);
  CHECK(Verify(job.state().spec(), job.facts()).ok());
}

TEST_CASE("Decide: a failed attempt is tried again while attempts are left", "[scheduler]") {
  SearchSpec spec = RandomJob(1, 5);
  spec.limits.max_attempts = 3;
  PlayedJob job(spec);
  for (int failure = 1; failure <= 3; ++failure) {
    REQUIRE(job.Start() == 1);
    CHECK(job.Newest<AttemptStarted>().attempt == failure);
    job.End(1, AttemptOutcome::kFailed, "segmentation fault");
  }
  CHECK(job.trial(1).phase == TrialPhase::kFailed);
  CHECK(job.trial(1).reason == "Failed 3 times, at last: segmentation fault");
}

TEST_CASE("Decide: lost workers cost no attempt, but not without end", "[scheduler]") {
  SearchSpec spec = RandomJob(1, 5);
  spec.limits.max_lost_attempts = 6;
  PlayedJob job(spec);
  for (int loss = 1; loss <= 6; ++loss) {
    REQUIRE(job.Start() == 1);
    job.Report(1, 2, 0.5);
    job.End(1, AttemptOutcome::kLost, "no word for 30 s");
  }
  CHECK(job.trial(1).phase == TrialPhase::kFailed);
  CHECK(job.trial(1).reason == "Lost to the machines 6 times, at last: no word for 30 s");
  CHECK(job.trial(1).trained_resource == 12);
  CHECK(job.trial(1).curve.size() == 1);
}

TEST_CASE("Decide: a trial that was handed back goes on from where it was", "[scheduler]") {
  PlayedJob job(RandomJob(1, 5));
  job.Start();
  job.Report(1, 3, 0.5);
  job.End(1, AttemptOutcome::kHandedBack);
  REQUIRE(job.Start() == 1);
  CHECK(job.Newest<AttemptStarted>().from == 3);
  job.Finish(1, 0.6);
  CHECK(job.trial(1).trained_resource == 5);
  CHECK(job.trial(1).failures == 0);
}

TEST_CASE("Decide: a checkpoint ahead of the record is no early end", "[scheduler]") {
  PlayedJob job(HyperbandJob(9, 3));
  for (int i = 0; i < 9; ++i) job.Start();
  job.Report(1, 1, 0.5);
  job.End(1, AttemptOutcome::kLost, "gone");
  REQUIRE(job.Start() == 1);
  job.End(1, AttemptOutcome::kFinished);  // it finds its checkpoint at 1 and reports nothing
  CHECK(job.trial(1).phase == TrialPhase::kPaused);
  CHECK_FALSE(job.trial(1).at_own_end);
}

TEST_CASE("Decide: a stop ends every trial at once and the job when the last process is gone",
          "[scheduler]") {
  PlayedJob job(RandomJob(5, 5));
  job.Start();
  job.Start();
  job.Report(1, 1, 0.5);
  job.Record(StopRequested{"asked by ada"});
  CHECK(job.state().totals().cancelled == 2);
  CHECK(job.trial(1).reason == "The job was stopped: asked by ada");
  CHECK_FALSE(job.state().ended());
  CHECK(job.Start() == 0);
  job.End(1, AttemptOutcome::kStopped);
  CHECK_FALSE(job.state().ended());
  job.End(2, AttemptOutcome::kFinished);
  REQUIRE(job.state().ended());
  CHECK(job.state().ended()->end == JobEnd::kStopped);
}

TEST_CASE("Decide: stopping a job that runs nothing ends it, a second stop changes nothing", "[scheduler]") {
  PlayedJob job(RandomJob(5, 5));
  job.Record(StopRequested{""});
  CHECK(job.state().ended()->end == JobEnd::kStopped);
  job.Record(StopRequested{"again"});
  CHECK(job.state().stop_reason().empty());
}

TEST_CASE("Decide: the wall time ends a job as completed", "[scheduler]") {
  PlayedJob job(HyperbandJob(9, 3));
  job.Start();
  job.Finish(1, 0.5);
  job.Start();
  job.Record(TimeLimitReached{});
  CHECK(job.trial(1).reason == "max_wall_time was reached.");
  CHECK(job.Start() == 0);
  job.End(2, AttemptOutcome::kStopped);
  CHECK(job.state().ended()->end == JobEnd::kCompleted);
}

TEST_CASE("Decide: max_total_resource is never exceeded, not by one unit", "[scheduler]") {
  SearchSpec spec = RandomJob(0, 5);
  spec.limits.max_total_resource = 14;
  PlayedJob job(spec);
  CHECK(job.StartAll() == 2);
  CHECK(job.state().totals().reserved_resource == 10);
  job.Finish(1, 0.5);
  CHECK(job.StartAll() == 0);
  job.Finish(2, 0.5);
  REQUIRE(job.state().ended());
  CHECK(job.state().ended()->end == JobEnd::kCompleted);
  CHECK(job.state().ended()->reason ==
        "max_total_resource = 14 leaves too little for another part: 10 units are trained.");
}

TEST_CASE("Decide: units that a trial gives back are used for another", "[scheduler]") {
  SearchSpec spec = RandomJob(0, 5);
  spec.limits.max_total_resource = 10;
  PlayedJob job(spec);
  CHECK(job.StartAll() == 2);
  job.Finish(1, 0.5, 1);
  CHECK(job.StartAll() == 0);
  job.Finish(2, 0.5, 4);
  CHECK(job.StartAll() == 1);
  job.Finish(3, 0.5);
  CHECK(job.state().totals().resource == 10);
  CHECK(job.state().ended());
}

TEST_CASE("Decide: trials that wait at a rung which can never fill are ended with the reason",
          "[scheduler]") {
  SearchSpec spec = HyperbandJob(9, 3);
  spec.limits.max_total_resource = 4;
  PlayedJob job(spec);
  CHECK(job.StartAll() == 4);
  for (TrialNumber n = 1; n <= 4; ++n) job.Finish(n, 0.5);
  REQUIRE(job.state().ended());
  CHECK(job.state().totals().cancelled == 4);
  CHECK(job.trial(1).reason.find("Its rung will never be full: max_total_resource = 4") == 0);
}

TEST_CASE("Decide: a trial's next part that no longer fits ends it with the reason", "[scheduler]") {
  SearchSpec spec = HyperbandJob(9, 3);
  spec.limits.max_total_resource = 10;
  PlayedJob job(spec);
  for (int i = 0; i < 9; ++i) job.Start();
  for (TrialNumber n = 1; n <= 9; ++n) job.Finish(n, static_cast<double>(n));
  CHECK(job.Start() == 0);
  REQUIRE(job.state().ended());
  CHECK(job.trial(9).phase == TrialPhase::kCancelled);
  CHECK(job.trial(9).reason.find("max_total_resource = 10") == 0);
}

TEST_CASE("Decide: never more live attempts than max_parallel_trials", "[scheduler]") {
  SearchSpec spec = RandomJob(10, 5);
  spec.limits.max_parallel_trials = 3;
  PlayedJob job(spec);
  CHECK(job.StartAll() == 3);
  job.Finish(2, 1);
  CHECK(job.StartAll() == 1);
}

TEST_CASE("Decide: the first report of a level stays, and units are counted once per attempt",
          "[scheduler]") {
  PlayedJob job(RandomJob(1, 5));
  job.Start();
  job.Report(1, 2, 0.5);
  job.Report(1, 2, 0.9);
  job.Report(1, 1, 0.1);
  CHECK(job.trial(1).curve == Curve{{1, 0.1}, {2, 0.5}});
  CHECK(job.state().totals().resource == 2);
  CHECK(job.state().totals().reserved_resource == 3);
}

TEST_CASE("Job state: says what contradicts it", "[scheduler]") {
  PlayedJob job(RandomJob(3, 5));
  job.Start();
  const auto why = [&job](FactBody body) {
    return job.state().Contradiction({job.state().last_sequence() + 1, 0, std::move(body)});
  };
  CHECK(why(Reported{2, 1, 1, 0.5}) == "there is no trial 2");
  CHECK(why(Reported{1, 2, 1, 0.5}) == "there is no such attempt");
  CHECK(why(AttemptStarted{1, 2, 0, 5}) == "the trial is not pending");
  CHECK(why(TrialPaused{1, 5}) == "it is in no bracket");
  CHECK(why(RungCut{}) == "no such bracket");
  CHECK(why(Reported{1, 1, 1, 0.5}).empty());
  CHECK(job.state().Contradiction({99, 0, Reported{1, 1, 1, 0.5}}) == "its number should be 3");
  job.Finish(1, 1);
  CHECK(why(AttemptEnded{1, 1, AttemptOutcome::kFinished, "", 0, 0}) == "the attempt is not running");
  CHECK(why(TrialEnded{1, TrialEnd::kStopped, "x"}) == "the trial has already ended");
}

}  // namespace
}  // namespace winnow
