#include "scheduler/samplers/indifference.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

// A job whose trials, drawn by Sobol over x and y, have trained to their end.
SimulationResult Trained(int trials, const std::function<double(double, double)>& value) {
  SearchSpec spec = RandomJob(trials, 2);
  spec.parameters.push_back({"y", ContinuousRange{0, 1}});
  spec.sampler.kind = SamplerKind::kSobol;
  Simulation simulation = Slots(1);
  simulation.objective = [&](const Configuration& configuration, int64_t) {
    return value(std::get<double>(configuration[0]), std::get<double>(configuration[1]));
  };
  return Simulate(spec, simulation);
}

TEST_CASE("Indifference: a function that changes everywhere has no radius", "[scheduler]") {
  const SimulationResult result = Trained(100, [](double x, double y) { return x + std::sin(3 * y); });
  const UnitPoints points(result.state.space());
  const Indifference indifference(result.state, points);
  CHECK(indifference.radius() == 0);
  CHECK_FALSE(indifference.IsNearKnown(points.PointOf(result.state.trial(1).configuration)));
}

TEST_CASE("Indifference: where values come in steps, what is nearer than a step is not tried again",
          "[scheduler]") {
  const SimulationResult result =
      Trained(200, [](double x, double y) { return std::floor(4 * x) + 10 * std::floor(4 * y); });
  const UnitPoints points(result.state.space());
  const Indifference indifference(result.state, points);
  CHECK(indifference.radius() > 0.02);
  CHECK(indifference.radius() < 0.5);
  Eigen::VectorXd point = points.PointOf(result.state.trial(1).configuration);
  point[0] += point[0] > 0.5 ? -0.01 : 0.01;
  CHECK(indifference.IsNearKnown(point));
}

TEST_CASE("Indifference: a region in which all fail alike sets no radius", "[scheduler]") {
  const SimulationResult result = Trained(100, [](double x, double y) { return x < 0.7 ? 0.1 : x + y; });
  const UnitPoints points(result.state.space());
  CHECK(Indifference(result.state, points).radius() == 0);
}

}  // namespace
}  // namespace winnow
