// Which trials were pruned, and which were cancelled: the recorded fact is the same, what came before it
// tells.

#include "scheduler/replay.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

TEST_CASE("Trial ends: what a rung's cut leaves behind is pruned, what ends with the job is cancelled",
          "[scheduler]") {
  const FactBody end =
      GENERATE(FactBody(StopRequested{"enough"}), FactBody(TimeLimitReached{TimeLimit::kWall}),
               FactBody(TimeLimitReached{TimeLimit::kNode}));
  PlayedJob job(HyperbandJob(9, 3));
  for (int i = 0; i < 9; ++i) job.Start();
  for (TrialNumber n = 1; n <= 9; ++n) job.Finish(n, static_cast<double>(n));
  CHECK(job.state().totals().pruned == 6);
  REQUIRE(job.Start() == 7);  // runs when the job ends; 8 and 9 wait for a slot
  job.Record(end);
  CHECK(job.state().totals().pruned == 6);
  CHECK(job.state().totals().cancelled == 3);
  for (const TrialNumber n : {7, 8, 9}) CHECK(job.trial(n).phase == TrialPhase::kCancelled);
  CHECK(job.trial(1).phase == TrialPhase::kPruned);
}

TEST_CASE("Trial ends: a completion rule cancels those that run", "[scheduler]") {
  SearchSpec spec = RandomJob(9, 5);
  spec.completion.target_objective = 0.9;
  PlayedJob job(spec);
  job.Start();
  job.Start();
  job.Report(1, 1, 0.95);
  CHECK(job.state().totals().cancelled == 2);
}

TEST_CASE("Trial ends: first failures that end the job cancel those that run beside them", "[scheduler]") {
  SearchSpec spec = RandomJob(9, 5);
  spec.limits.max_first_failures = 1;
  PlayedJob job(spec);
  job.Start();
  job.End(1, AttemptOutcome::kFailed, "no such file");
  CHECK(job.state().totals().failed == 1);
  CHECK(job.state().ended()->end == JobEnd::kFailed);
  CHECK(job.state().failures().by_reason().at("no such file") == FailureCount{1, 1});
}

TEST_CASE("Trial ends: what the budget cannot pay for is cancelled, in the queue and at a rung",
          "[scheduler]") {
  SearchSpec spec = HyperbandJob(9, 3);
  spec.limits.max_total_resource = 10;
  PlayedJob job(spec);
  for (int i = 0; i < 9; ++i) job.Start();
  for (TrialNumber n = 1; n <= 9; ++n) job.Finish(n, static_cast<double>(n));
  CHECK(job.Start() == 0);
  CHECK(job.state().totals().pruned == 6);
  CHECK(job.state().totals().cancelled == 3);
}

TEST_CASE("Trial ends: of ASHA's paused trials those without a place are pruned, those with one cancelled",
          "[scheduler]") {
  SearchSpec spec = HyperbandJob(9, 3);
  spec.pruner.kind = PrunerKind::kAsha;
  spec.limits.max_trials = 3;
  spec.limits.max_total_resource = 4;
  PlayedJob job(spec);
  for (TrialNumber n = 1; n <= 3; ++n) {
    REQUIRE(job.Start() == n);
    job.Finish(n, static_cast<double>(n));
  }
  REQUIRE(job.state().ended());
  CHECK(job.trial(1).phase == TrialPhase::kPruned);
  CHECK(job.trial(2).phase == TrialPhase::kPruned);
  CHECK(job.trial(3).phase == TrialPhase::kCancelled);  // its place is worth 2 units, and 1 is left
  CHECK(job.trial(3).reason.find("but it cannot go on") != std::string::npos);
}

TEST_CASE("Trial ends: a freeze-thaw job's trials that the model gave up are pruned", "[scheduler]") {
  SearchSpec spec = HyperbandJob(9, 3, 12);
  spec.sampler.kind = SamplerKind::kGp;
  spec.pruner.kind = PrunerKind::kFreezeThaw;
  const JobState state = Simulate(spec, Slots(2)).state;
  CHECK(state.totals().pruned > 0);
  CHECK(state.totals().cancelled == 0);
}

TEST_CASE("Trial ends: failures are counted by reason", "[scheduler]") {
  PlayedJob job(RandomJob(9, 5));
  for (TrialNumber n = 1; n <= 6; ++n) {
    REQUIRE(job.Start() == n);
    job.End(n, AttemptOutcome::kFailed, n % 3 == 0 ? "exit code 3" : "out of memory");
  }
  CHECK(job.state().failures().by_reason() ==
        std::map<std::string, FailureCount>{{"exit code 3", {2, 3}}, {"out of memory", {4, 1}}});
}

}  // namespace
}  // namespace winnow
