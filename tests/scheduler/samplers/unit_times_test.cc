#include "scheduler/samplers/unit_times.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "scheduler/models/quantile.h"
#include "scheduler/replay.h"
#include "scheduler/simulate.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

constexpr double kSlowerBy = 2;  // the logarithm of how much slower units are at x = 1 than at x = 0

// Over x, which makes units slow, and y, which makes trials good; limited by 200 s alone.
SearchSpec TimedJob() {
  SearchSpec spec = HyperbandJob(9, 3);
  spec.parameters = {{"x", ContinuousRange{0, 1}}, {"y", ContinuousRange{0, 1}}};
  spec.sampler.kind = SamplerKind::kGp;
  spec.pruner.kind = PrunerKind::kFreezeThaw;
  spec.limits.max_wall_time_us = 200'000'000;
  return spec;
}

double At(const Configuration& configuration, size_t parameter) {
  return std::get<double>(configuration[parameter]);
}

SimulationResult Play(const SearchSpec& spec) {
  Simulation simulation = Slots(1);
  simulation.wall_time_seconds = 200;
  simulation.start_seconds = 0;
  simulation.slowness = [](const Configuration& at) { return std::exp(kSlowerBy * (At(at, 0) - 0.5)); };
  simulation.objective = [](const Configuration& at, int64_t level) {
    return -std::pow(At(at, 1) - 0.4, 2) - 0.1 / static_cast<double>(level);
  };
  return Simulate(spec, simulation);
}

double MedianX(const SimulationResult& result) {
  std::vector<double> xs;
  for (const TrialState& trial : result.state.trials()) xs.push_back(At(trial.configuration, 0));
  return Quantile(std::move(xs), 0.5);
}

TEST_CASE("Unit times: where time alone limits a job, they follow the configuration", "[scheduler]") {
  const SimulationResult played = Play(TimedJob());
  const UnitPoints points(played.state);
  const UnitTimes times(played.state, points);
  REQUIRE(times.known());
  const Eigen::Vector2d slow(0.9, 0.5), fast(0.1, 0.5);
  CHECK(times.LogOf(slow) - times.LogOf(fast) == Approx(0.8 * kSlowerBy).epsilon(0.25));
  CHECK(times.FactorOf(slow) == std::exp(times.LogOf(slow)));

  Eigen::VectorXd slope = Eigen::Vector2d(1, 1);
  times.AddSlope(slow, slope, -2);
  const Eigen::Vector2d moved(0.9 + 1e-4, 0.5);
  CHECK(slope[0] == Approx(1 - 2 * (times.LogOf(moved) - times.LogOf(slow)) / 1e-4).epsilon(1e-6));
}

TEST_CASE("Unit times: those of a trial are the measured ones, the more the longer it trained",
          "[scheduler]") {
  // A trial is given units four times as slow as those that it had.
  SimulationResult played = Play(TimedJob());
  const UnitPoints points(played.state);
  const UnitTimes times(played.state, points);
  TrialState trial = played.state.trial(1);
  const Eigen::VectorXd point = points.PointOf(trial.configuration);
  trial.timed_units = 0;
  const double expected = times.FactorOf(trial, point);
  CHECK(expected == times.FactorOf(point));
  double before = expected;
  const TrialState& measured = played.state.trial(1);
  REQUIRE(measured.timed_units > 0);
  for (const int64_t units : {1, 8, 1000}) {
    trial.timed_units = units;
    trial.timed_us = 4 * units * measured.timed_us / measured.timed_units;
    const double factor = times.FactorOf(trial, point);
    CHECK(factor > before);
    before = factor;
  }
}

TEST_CASE("Unit times: nothing is known of a job with another limit, nor at its beginning", "[scheduler]") {
  SearchSpec spec = TimedJob();
  spec.limits.max_trials = 1000;
  const SimulationResult played = Play(spec);
  const UnitPoints points(played.state);
  const UnitTimes times(played.state, points);
  CHECK_FALSE(times.known());
  const TrialState& trial = played.state.trial(1);
  CHECK(trial.timed_units > 0);
  CHECK(times.FactorOf(trial, points.PointOf(trial.configuration)) == 1);

  const JobState empty(TimedJob());
  CHECK_FALSE(UnitTimes(empty, UnitPoints(empty)).known());
}

TEST_CASE("Unit times: categories and conditional parameters count too", "[scheduler]") {
  SearchSpec spec = TimedJob();
  spec.parameters.push_back({"kind", CategoricalRange{{"a", "b"}}});
  spec.parameters.push_back({"z", ContinuousRange{0, 1}, Condition{2, {std::string("b")}}});
  Simulation simulation = Slots(1);
  simulation.wall_time_seconds = 200;
  simulation.slowness = [](const Configuration& at) {
    return std::get<std::string>(at[2]) == "b" ? 1 + std::get<double>(at[3]) : 0.5;
  };
  simulation.objective = [](const Configuration& at, int64_t) { return At(at, 1); };
  const SimulationResult played = Simulate(spec, simulation);
  const UnitPoints points(played.state);
  const UnitTimes times(played.state, points);
  REQUIRE(times.known());
  const double b = times.LogOf(Eigen::Vector4d(0.5, 0.5, 1, 0.5));
  CHECK(b > times.LogOf(Eigen::Vector4d(0.5, 0.5, 0, kInactive)) + 0.3);
  CHECK(times.LogOf(Eigen::Vector4d(0.5, 0.5, 1, 1)) > b);
}

TEST_CASE("Unit times: models look for what is fast where speed costs nothing", "[scheduler]") {
  const PrunerKind pruner = GENERATE(PrunerKind::kFreezeThaw, PrunerKind::kNone);
  SearchSpec spec = TimedJob();
  spec.pruner.kind = pruner;
  if (pruner == PrunerKind::kNone) spec.limits.max_trial_resource = 9;
  const SimulationResult timed = Play(spec);
  spec.limits.max_trials = 1'000'000;
  const SimulationResult other = Play(spec);
  CHECK(MedianX(timed) < MedianX(other) - 0.05);
  CHECK(timed.state.trials().size() > other.state.trials().size());
}

}  // namespace
}  // namespace winnow
