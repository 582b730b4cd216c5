#include "scheduler/pruners/pbt.h"

#include "scheduler/plan.h"
#include "scheduler/replay.h"
#include "scheduler/validate.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

// Four trials to 10, 20 and 30; the best of four takes the place of the worst.
SearchSpec PopulationJob() {
  SearchSpec spec = HyperbandJob(30, 4);
  spec.pruner.kind = PrunerKind::kPbt;
  spec.pruner.rungs.min_resource = 10;
  spec.pruner.bracket_trials = 4;
  spec.sampler.kind = SamplerKind::kSobol;
  spec.parameters[0].range = ContinuousRange{0.01, 1, Scaling::kLog};
  return spec;
}

// The first generation: trial n reports 0.1 n, so that trial 4 is the best and trial 1 the worst.
PlayedJob AfterFirstGeneration(const SearchSpec& spec) {
  PlayedJob job(spec);
  REQUIRE(job.StartAll() == 4);
  for (TrialNumber n = 1; n <= 4; ++n) job.Finish(n, 0.1 * static_cast<double>(n));
  return job;
}

std::vector<std::string> RefusedFields(const SearchSpec& spec) {
  std::vector<std::string> fields;
  for (const Violation& violation : ValidateSearch(spec)) fields.push_back(violation.field);
  return fields;
}

TEST_CASE("PBT: the plan is one bracket that keeps its width", "[scheduler]") {
  const Plan plan = MakePlan(PopulationJob());
  REQUIRE(plan.brackets.size() == 1);
  CHECK(Rungs(plan.brackets[0]) == "4@10 4@20 4@30");
  CHECK(plan.resource == 120);
  CHECK(plan.trials == 6);  // those that the job has if none fails, see below
  CHECK(plan.note ==
        "After each generation of 4 trials but the last, new trials with other configurations take the "
        "places of "
        "the worst 1. They go on from the checkpoints of better ones.");
  SearchSpec bounded = PopulationJob();
  bounded.limits.max_trials = 5;
  CHECK(MakePlan(bounded).trials == 5);
  CHECK_THAT(MakePlan(bounded).note, Catch::Contains(", until there are max_trials = 5. "));
}

TEST_CASE("PBT: in place of the worst a new trial goes on from the checkpoint of the best", "[scheduler]") {
  const PlayedJob job = AfterFirstGeneration(PopulationJob());
  REQUIRE(job.state().trials().size() == 5);
  const TrialState& heir = job.trial(5);
  CHECK(heir.origin == 4);
  CHECK(heir.origin_resource == 10);
  CHECK(heir.checkpoint == 10);
  CHECK(heir.to == 20);
  CHECK(heir.root == 4);
  CHECK(heir.configuration != job.trial(4).configuration);
  CHECK(job.trial(1).phase == TrialPhase::kPruned);
  CHECK(job.trial(1).reason ==
        "PBT: rung 1 at resource 10: rank 4 of 4 with score = 0.1; trial 5 takes its place.");
  const std::string why = job.Newest<TrialCreated>().why;
  CHECK(why.rfind("PBT: in place of trial 1; goes on from trial 4's checkpoint at resource 10 with x ", 0) ==
        0);
  CHECK(why.find(" -> ") != std::string::npos);
  CHECK(job.trial(2).phase == TrialPhase::kPending);
}

TEST_CASE("PBT: a trial is not trained on before its checkpoint was taken", "[scheduler]") {
  SECTION("and its worker has said so") {
    PlayedJob job = AfterFirstGeneration(PopulationJob());
    REQUIRE(job.StartAll() == 3);  // trial 4 waits for trial 5
    CHECK(job.trial(4).phase == TrialPhase::kPending);
    job.Record(CheckpointTaken{5});
    CHECK(job.Start() == 4);
    CHECK(job.state().Contradiction({job.state().last_sequence() + 1, 0, CheckpointTaken{5}}) ==
          "the trial has no other's checkpoint to take");
  }
  SECTION("or it has reported, or was lost for good") {
    PlayedJob job = AfterFirstGeneration(PopulationJob());
    REQUIRE(job.StartAll() == 3);
    job.End(5, AttemptOutcome::kLost);  // before it had the checkpoint: trial 4 waits on
    CHECK(job.trial(4).to_be_taken == 1);
    REQUIRE(job.Start() == 5);
    CHECK(job.trial(5).attempt_from == 10);
    job.Report(5, 11, 0.5);
    CHECK(job.Start() == 4);
  }
  SECTION("or it starts from nothing, because the checkpoint is out of reach") {
    PlayedJob job = AfterFirstGeneration(PopulationJob());
    job.Record(CheckpointLost{5});
    CHECK(job.trial(5).origin == 0);
    CHECK(job.trial(5).checkpoint == 0);
    CHECK(job.trial(4).to_be_taken == 0);
    CHECK(job.StartAll() == 4);
  }
}

TEST_CASE("PBT: the whole population is trained to the end, unit for unit as planned", "[scheduler]") {
  PlayedJob job(PopulationJob());
  while (const TrialNumber number = job.Start()) job.Finish(number, 0.1 * static_cast<double>(number % 7));
  REQUIRE(job.state().ended());
  CHECK(job.state().ended()->end == JobEnd::kCompleted);
  CHECK(job.state().totals().resource == 120);
  CHECK(job.state().totals().completed == 4);
  CHECK(job.state().trials().size() == 6);
  CHECK(Verify(PopulationJob(), job.facts()).ok());
}

TEST_CASE("PBT: a trial that failed is replaced, and cannot be gone on from", "[scheduler]") {
  PlayedJob job(PopulationJob());
  REQUIRE(job.StartAll() == 4);
  job.Report(4, 5, 0.9);
  job.End(4, AttemptOutcome::kFailed, "exit code 1");
  for (TrialNumber n = 1; n <= 3; ++n) job.Finish(n, 0.1 * static_cast<double>(n));
  REQUIRE(job.state().trials().size() == 6);  // trial 1 is the worst of the others
  CHECK(job.trial(5).origin == 3);
  CHECK(job.trial(6).origin == 3);
  CHECK(job.trial(3).to_be_taken == 2);
  CHECK(job.trial(4).phase == TrialPhase::kFailed);
}

TEST_CASE("PBT: where no trial has a value, none goes on", "[scheduler]") {
  PlayedJob job(PopulationJob());
  REQUIRE(job.StartAll() == 4);
  for (TrialNumber n = 1; n <= 4; ++n) job.Report(n, 10, kNaN);
  for (TrialNumber n = 1; n <= 4; ++n) job.End(n, AttemptOutcome::kStopped);
  REQUIRE(job.state().ended());
  CHECK(job.state().ended()->end == JobEnd::kFailed);
  CHECK(job.state().trials().size() == 4);
}

TEST_CASE("PBT: max_trials counts the trials that take the places of others", "[scheduler]") {
  SearchSpec spec = PopulationJob();
  spec.limits.max_trials = 5;
  PlayedJob job(spec);
  while (const TrialNumber number = job.Start()) job.Finish(number, 0.1 * static_cast<double>(number));
  CHECK(job.state().trials().size() == 5);
  CHECK(job.state().totals().completed == 4);  // at the second cut the worst goes on as it is
  CHECK(Verify(spec, job.facts()).ok());
}

TEST_CASE("PBT: a budget that ends between generations ends the job", "[scheduler]") {
  SearchSpec spec = PopulationJob();
  spec.limits.max_total_resource = 65;
  PlayedJob job(spec);
  while (const TrialNumber number = job.Start()) job.Finish(number, 0.1 * static_cast<double>(number));
  REQUIRE(job.state().ended());
  CHECK(job.state().totals().resource == 60);
  CHECK(Verify(spec, job.facts()).ok());
}

TEST_CASE("PBT: when a rule of completion is met, no trial takes a place", "[scheduler]") {
  SearchSpec spec = PopulationJob();
  spec.completion.no_improvement_trials = 1;
  PlayedJob job(spec);
  REQUIRE(job.StartAll() == 4);
  for (TrialNumber n = 4; n >= 1; --n) job.Finish(n, 0.1 * static_cast<double>(n));
  while (const TrialNumber number = job.Start()) job.Finish(number, 0);
  REQUIRE(job.state().ended());
  for (const TrialState& trial : job.state().trials()) CHECK(trial.ended());
  CHECK(Verify(spec, job.facts()).ok());
}

TEST_CASE("PBT: several objectives are ranked front by front", "[scheduler]") {
  SearchSpec spec = PopulationJob();
  spec.objectives = {{"score", Goal::kMaximize, {}}, {"size", Goal::kMinimize, {}}};
  spec.objective_metric = "score";
  spec.objective_value = ObjectiveValue::kLast;
  PlayedJob job(spec);
  REQUIRE(job.StartAll() == 4);
  const double sizes[] = {9, 1, 2, 3};
  for (TrialNumber n = 1; n <= 4; ++n) {
    job.Record(Reported{n, 1, 10, sizes[n - 1], 1});
    job.Finish(n, 0.1 * static_cast<double>(n));  // trial 1 is worse in both
  }
  CHECK(job.trial(1).phase == TrialPhase::kPruned);
  CHECK(job.trial(1).reason.find("front 2") != std::string::npos);
  CHECK(job.trial(5).origin != 1);
}

TEST_CASE("PBT: what it cannot do is refused by the field's name", "[scheduler]") {
  CHECK(RefusedFields(PopulationJob()).empty());
  SearchSpec spec = PopulationJob();
  spec.resumes = false;
  CHECK(RefusedFields(spec) == std::vector<std::string>{"pruner.kind"});
  spec = PopulationJob();
  spec.sampler.kind = SamplerKind::kGp;
  CHECK(RefusedFields(spec) == std::vector<std::string>{"sampler.kind"});
  spec = PopulationJob();
  spec.pruner.bracket_trials = 3;  // fewer than reduction_factor
  CHECK(RefusedFields(spec) == std::vector<std::string>{"pruner.trials"});
  spec = PopulationJob();
  spec.limits.max_trials = 3;
  CHECK(RefusedFields(spec) == std::vector<std::string>{"pruner.trials"});
  spec = PopulationJob();
  spec.parameters[0].range = DiscreteRange{{1, 2, 3}};
  CHECK(RefusedFields(spec) == std::vector<std::string>{"pruner.trials"});
  spec = PopulationJob();
  spec.pruner.rungs = {1, 1'000'000, 4};
  CHECK(RefusedFields(spec) == std::vector<std::string>{"pruner.min_resource"});
  spec = PopulationJob();
  spec.objective_value = ObjectiveValue::kMean;
  CHECK(RefusedFields(spec) == std::vector<std::string>{"objective.value"});
}

}  // namespace
}  // namespace winnow
