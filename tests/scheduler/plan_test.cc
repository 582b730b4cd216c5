#include "scheduler/plan.h"

#include "scheduler/plan_estimate.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

TEST_CASE("Plan: R = 30 with 30 trials is what the job then trains", "[scheduler]") {
  const SearchSpec spec = HyperbandJob(30, 3, 30);
  const Plan plan = MakePlan(spec);
  CHECK(plan.trials == 30);
  CHECK(plan.full_resource == 900);
  const SimulationResult result = Simulate(spec, Slots(4));
  CHECK(result.state.trials().size() == 30);
  CHECK(result.state.totals().resource == plan.resource);
  CHECK(plan.resource == 403);
}

TEST_CASE("Plan: RANDOM sums up where its trials will end", "[scheduler]") {
  SearchSpec spec = RandomJob(10, 15);
  CHECK(MakePlan(spec).resource == 150);
  spec.parameters = {{"rounds", IntegerRange{10, 20, Scaling::kLinear}}};
  spec.own_end_parameter = 0;
  const SimulationResult result = [&spec] {
    Simulation simulation = Slots(2);
    simulation.objective = [](const Configuration&, int64_t) { return 1.0; };
    return Simulate(spec, simulation);
  }();
  CHECK(MakePlan(spec).resource == result.state.totals().resource);
  CHECK(MakePlan(spec).brackets.empty());
}

TEST_CASE("Plan: it comes at once, however many trials there are", "[scheduler]") {
  CHECK(MakePlan(RandomJob(INT64_MAX / 10, 10)).resource == INT64_MAX / 10 * 10);
}

TEST_CASE("Plan: what is not known beforehand is 0, and said", "[scheduler]") {
  const Plan unknown = MakePlan(RandomJob(10, 0));
  CHECK(unknown.trials == 10);
  CHECK(unknown.resource == 0);
  CHECK(unknown.note == "Where the trainer ends is not known beforehand.");
  SearchSpec endless = HyperbandJob(9, 3);
  endless.limits.max_wall_time_us = 1;
  CHECK(MakePlan(endless).trials == 0);
  CHECK(MakePlan(endless).brackets.size() == 3);
}

TEST_CASE("Plan: with repeats it says what is not repeated, and nothing of learning curves", "[scheduler]") {
  SearchSpec spec = RandomJob(10, 4);
  spec.repeats = 4;
  spec.pruner.kind = PrunerKind::kPairedTest;
  spec.pruner.min_chance = kPairedTestChance;
  CHECK_THAT(MakePlan(spec).note,
             Catch::Contains("are not repeated further") && !Catch::Contains("learning curves"));
}

TEST_CASE("Plan: limits and own ends are taken in", "[scheduler]") {
  SearchSpec spec = HyperbandJob(81, 3, 143);
  spec.limits.max_total_resource = 1000;
  CHECK(MakePlan(spec).resource == 1000);
  CHECK(MakePlan(spec).note.find("max_total_resource = 1000 ends the job before the 1581 units") == 0);
  spec.limits.max_total_resource = 0;
  spec.own_end = 27;
  const Plan plan = MakePlan(spec);
  CHECK(plan.full_resource == 143 * 27);
  CHECK(plan.resource == Simulate(spec, Slots(4)).state.totals().resource);
}

TEST_CASE("Plan: where a parameter says where the trainer ends, its default does not", "[scheduler]") {
  SearchSpec spec = HyperbandJob(30, 3);
  spec.parameters.push_back({"num_round", IntegerRange{100, 200}});
  spec.own_end_parameter = 1;
  spec.own_end = 10;
  const Plan plan = MakePlan(spec);
  CHECK(plan.resource == MakePlan(HyperbandJob(30, 3)).resource);
  CHECK(plan.note.empty());
}

TEST_CASE("Plan: ASHA is what its rungs amount to, MEDIAN and FREEZE_THAW what is trained at most",
          "[scheduler]") {
  SearchSpec spec = HyperbandJob(9, 3, 27);
  spec.pruner.kind = PrunerKind::kAsha;
  const Plan asha = MakePlan(spec);
  CHECK(asha.trials == 27);
  CHECK(asha.evaluations == 27 + 9 + 3);
  CHECK(asha.resource == 27 * 1 + 9 * 2 + 3 * 6);
  CHECK(asha.resource_without_resume == 27 * 1 + 9 * 3 + 3 * 9);
  CHECK(asha.full_resource == 27 * 9);
  spec.pruner.kind = PrunerKind::kFreezeThaw;
  CHECK(MakePlan(spec).resource == 27 * 9);
  CHECK(MakePlan(spec).note ==
        "FREEZE_THAW decides part by part what to train: this is the most that it may train.");
  SearchSpec median = RandomJob(10, 15);
  median.pruner.kind = PrunerKind::kMedian;
  CHECK(MakePlan(median).resource == 150);
  CHECK(MakePlan(median).note.find("less is trained than planned") != std::string::npos);
}

TEST_CASE("Plan estimate: full trials on four slots take a quarter of their units", "[scheduler]") {
  const PlanEstimate estimate = EstimatePlan(RandomJob(40, 10), 4, 2.0);
  CHECK(estimate.elapsed_seconds == Approx(40 * 10 * 2.0 / 4).epsilon(0.01));
  CHECK(estimate.busy_fraction == Approx(1).epsilon(0.01));
  SearchSpec two = RandomJob(40, 10);
  two.objectives = {{"gain", Goal::kMaximize, {}}, {"size", Goal::kMinimize, {}}};
  CHECK(EstimatePlan(two, 4, 2.0).elapsed_seconds == estimate.elapsed_seconds);
}

TEST_CASE("Plan estimate: long jobs are scaled up, limits are kept, the unknown is 0", "[scheduler]") {
  CHECK(EstimatePlan(RandomJob(1'000'000, 1000), 10, 1.0).elapsed_seconds == Approx(1e8).epsilon(0.01));
  CHECK(EstimatePlan(RandomJob(100, 1'000'000), 1, 1.0).elapsed_seconds == Approx(1e8).epsilon(0.01));
  CHECK(EstimatePlan(HyperbandJob(81, 3), 1, 1.0).elapsed_seconds == Approx(1581).epsilon(0.01));
  SearchSpec endless = HyperbandJob(81, 3);
  endless.limits.max_total_resource = 1'000'000'000;
  CHECK(EstimatePlan(endless, 10, 1.0).elapsed_seconds == Approx(1e8).epsilon(0.05));
  endless.limits.max_wall_time_us = 60'000'000;
  CHECK(EstimatePlan(endless, 10, 1.0).elapsed_seconds == 60);
  CHECK(EstimatePlan(RandomJob(10, 0), 1, 1.0).elapsed_seconds == 0);
  CHECK(EstimatePlan(RandomJob(10, 5), 0, 1.0).elapsed_seconds == 0);
}

TEST_CASE("Plan estimate: start-up is part of each trial part's time, and the estimate has its share",
          "[scheduler]") {
  const PlanEstimate whole = EstimatePlan(RandomJob(40, 10), 4, 2.0, 20.0);
  CHECK(whole.elapsed_seconds == Approx(40 * (20 + 10 * 2.0) / 4).epsilon(0.01));
  CHECK(whole.startup_fraction == Approx(0.5).epsilon(0.01));
  CHECK(EstimatePlan(RandomJob(40, 10), 4, 2.0).startup_fraction == 0);
  const PlanEstimate rungs = EstimatePlan(HyperbandJob(81, 3), 1, 1.0, 8.0);
  CHECK(rungs.elapsed_seconds == Approx(1581 + 206 * 8).epsilon(0.01));  // Hyperband's table is what it is
}

TEST_CASE("Plan estimate: the parts of FREEZE_THAW take as long as their start-up, those of ASHA as planned",
          "[scheduler]") {
  SearchSpec spec = HyperbandJob(81, 3, 100);
  spec.pruner.kind = PrunerKind::kAsha;
  const double asha = EstimatePlan(spec, 1, 1.0, 9.0).startup_fraction;
  spec.pruner.kind = PrunerKind::kFreezeThaw;
  CHECK(EstimatePlan(spec, 1, 1.0, 9.0).startup_fraction < 0.5);
  CHECK(asha > 0.5);
  CHECK(EstimatePlan(spec, 1, 1.0, 1e6).startup_fraction > 0.99);
}

TEST_CASE("Plan: a strategy in words", "[scheduler]") {
  SearchSpec spec = HyperbandJob(81, 3);
  CHECK(StrategyText(spec) == "SOBOL sampler under the HYPERBAND pruner");
  CHECK(StrategyText(RandomJob(1, 1)) == "RANDOM sampler, every trial trained to its end");
  spec.pruner.kind = PrunerKind::kAsha;
  spec.pruner.asha_form = AshaForm::kStopping;
  CHECK(StrategyText(spec) == "SOBOL sampler under the ASHA pruner in its stopping form");
}

}  // namespace
}  // namespace winnow
