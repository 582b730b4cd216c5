#include "scheduler/expected_values.h"

#include <cmath>
#include <numbers>

#include "scheduler/space/random.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

SearchSpec NoisyJob() {
  SearchSpec spec = RandomJob(0, 1);
  spec.limits.max_trials = 1000;
  spec.goal = Goal::kMaximize;
  return spec;
}

void Train(PlayedJob& job, double x, double value) {
  const TrialNumber number = job.state().next_trial();
  job.Record(TrialCreated{number, {x}, -1, 0, 1, "given"});
  job.Record(AttemptStarted{number, 1, 0, 1});
  job.Finish(number, value);
}

double NormalNoise(uint64_t i) {
  const double u = RandomUnit(5, 1, Purpose::kSimulation, 2 * i),
               v = RandomUnit(5, 1, Purpose::kSimulation, 2 * i + 1);
  return std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v);
}

// A hill at 0.7 of height 1 under noise of deviation 0.15, and one lucky result far from it.
PlayedJob Lucky() {
  PlayedJob job(NoisyJob());
  for (uint64_t i = 0; i < 60; ++i) {
    const double x = RandomUnit(9, 1, Purpose::kSimulation, i);
    Train(job, x, std::exp(-std::pow((x - 0.7) / 0.25, 2)) + 0.15 * NormalNoise(i));
  }
  Train(job, 0.2, 1.6);
  return job;
}

TEST_CASE("Expected values: a lucky result is expected to be worth less, and not handed out", "[scheduler]") {
  const PlayedJob job = Lucky();
  REQUIRE(job.state().best_trial() == 61);
  const ExpectedValues values(job.state());
  const auto lucky = values.Of(61), best = values.Best();
  REQUIRE(lucky);
  REQUIRE(best);
  CHECK(lucky->value < 1);
  CHECK(lucky->error > 0);
  CHECK(best->trial != 61);
  CHECK(best->value > lucky->value);
  CHECK(best->value == Approx(1).margin(0.2));
  CHECK(std::abs(std::get<double>(job.trial(best->trial).configuration[0]) - 0.7) < 0.2);
}

TEST_CASE("Expected values: they follow from the facts alone, whatever runs", "[scheduler]") {
  PlayedJob job = Lucky();
  const auto before = ExpectedValues(job.state()).Best();
  const TrialNumber number = job.state().next_trial();
  job.Record(TrialCreated{number, {0.71}, -1, 0, 1, "given"});
  job.Record(AttemptStarted{number, 1, 0, 1});
  CHECK(ExpectedValues(job.state()).Best() == before);
  JobState loaded(job.state().spec());
  for (const Fact& fact : job.facts()) loaded.Apply(fact);
  CHECK(ExpectedValues(loaded).Best() == before);
}

TEST_CASE("Expected values: without noise they are what was seen", "[scheduler]") {
  PlayedJob job(NoisyJob());
  for (uint64_t i = 0; i < 30; ++i) {
    const double x = RandomUnit(9, 1, Purpose::kSimulation, i);
    Train(job, x, -std::pow(x - 0.4, 2));
  }
  const auto best = ExpectedValues(job.state()).Best();
  REQUIRE(best);
  CHECK(best->trial == job.state().best_trial());
  CHECK(best->value == Approx(job.trial(best->trial).value).margin(2e-3));
}

TEST_CASE("Expected values: none for few results, several objectives, and what is no number", "[scheduler]") {
  PlayedJob job(NoisyJob());
  for (int i = 0; i < ExpectedValues::kLeastResults - 1; ++i) Train(job, 0.1 * i, i);
  CHECK_FALSE(ExpectedValues(job.state()).Best());
  CHECK_FALSE(ExpectedValues(job.state()).Of(1));
  Train(job, 0.9, NAN);
  CHECK_FALSE(ExpectedValues(job.state()).Best());
  Train(job, 0.8, 4);
  CHECK(ExpectedValues(job.state()).Best());

  SearchSpec several = NoisyJob();
  several.objectives = {{"auc", Goal::kMaximize, {}}, {"latency", Goal::kMinimize, {}}};
  several.objective_value = ObjectiveValue::kLast;
  CHECK_FALSE(ExpectedValues(JobState(several)).Best());
}

TEST_CASE("Expected values: a trial that violates a constraint is not handed out", "[scheduler]") {
  SearchSpec spec = NoisyJob();
  spec.metric_constraints = {{"size", {}, 10.0}};
  PlayedJob job(spec);
  for (int i = 0; i < 12; ++i) {
    const TrialNumber number = job.state().next_trial();
    job.Record(TrialCreated{number, {i / 12.0}, -1, 0, 1, "given"});
    job.Record(AttemptStarted{number, 1, 0, 1});
    job.Record(Reported{number, 1, 1, i < 6 ? 5.0 : 20.0, 1});
    job.Finish(number, i);
  }
  const auto best = ExpectedValues(job.state()).Best();
  REQUIRE(best);
  CHECK(best->trial == 6);
}

}  // namespace
}  // namespace winnow
