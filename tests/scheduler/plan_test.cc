#include "scheduler/plan.h"

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

}  // namespace
}  // namespace winnow
