#include <algorithm>

#include "scheduler/simulate.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

// Trials of 1, 2 or 4 nodes.
SearchSpec WidthJob(int64_t trials, int64_t level) {
  SearchSpec spec = RandomJob(trials, level);
  spec.parameters.push_back({"nodes", DiscreteRange{{1, 2, 4}}});
  spec.nodes_parameter = 1;
  return spec;
}

TEST_CASE("Nodes: the value of a hyperparameter, of any kind", "[scheduler]") {
  SearchSpec spec = WidthJob(1, 1);
  CHECK(spec.LeastNodes() == 1);
  CHECK(spec.MostNodes() == 4);
  CHECK(spec.Nodes({0.5, 2.0}) == 2);
  spec.parameters[1].range = CategoricalRange{{"8", "16"}};
  CHECK(spec.LeastNodes() == 8);
  CHECK(spec.MostNodes() == 16);
  CHECK(spec.Nodes({0.5, std::string("16")}) == 16);
  spec.parameters[1].range = IntegerRange{2, 1000};
  CHECK(spec.MostNodes() == kMostNodes);
}

TEST_CASE("Nodes: each trial holds as many slots as it has nodes, and its time counts as often",
          "[scheduler]") {
  Simulation simulation = Slots(5);
  int64_t most = 0;
  simulation.on_settled = [&most](const JobState& state) {
    int64_t ranks = 0, node_us = 0;
    for (const TrialState& trial : state.trials()) {
      REQUIRE(trial.nodes == state.spec().Nodes(trial.configuration));
      if (trial.live) ranks += trial.nodes;
      node_us += trial.training_us * trial.nodes;
    }
    REQUIRE(state.totals().live_nodes == ranks);
    REQUIRE(state.totals().node_us == node_us);
    REQUIRE(ranks <= 5);
    most = std::max(most, ranks);
  };
  const SimulationResult result = Simulate(WidthJob(30, 9), simulation);
  CHECK_FALSE(result.stalled);
  CHECK(result.state.totals().completed == 30);
  CHECK(most == 5);
  CHECK(result.state.totals().node_us > result.state.totals().training_us);
}

TEST_CASE("Nodes: node time ends a job when the ranks of its trials have used it up", "[scheduler]") {
  SearchSpec spec = WidthJob(100, 1000);
  spec.parameters[1].range = DiscreteRange{{2}};
  Simulation simulation = Slots(6);
  simulation.jitter = 0;
  simulation.node_time_seconds = 600;
  const SimulationResult result = Simulate(spec, simulation);
  CHECK(result.state.time_limit() == TimeLimit::kNode);
  CHECK(result.elapsed_seconds == Approx(100).epsilon(0.01));
}

TEST_CASE("Simulate: a configuration's units take as much longer as its slowness says", "[scheduler]") {
  SearchSpec spec = WidthJob(1, 10);
  spec.parameters[1].range = DiscreteRange{{2}};
  Simulation simulation = Slots(2);
  simulation.jitter = simulation.start_seconds = simulation.end_seconds = 0;
  const double usual = Simulate(spec, simulation).elapsed_seconds;
  simulation.slowness = [](const Configuration&) { return 2.5; };
  CHECK(Simulate(spec, simulation).elapsed_seconds == Approx(2.5 * usual));
}

}  // namespace
}  // namespace winnow
