#include "scheduler/pruners/paired_test.h"

#include <cmath>
#include <limits>

#include "scheduler/replay.h"
#include "scheduler/space/random.h"
#include "scheduler/state/repeat_effects.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

SearchSpec RepeatedJob(int64_t max_trials, int64_t repeats) {
  SearchSpec spec = RandomJob(max_trials, repeats);
  spec.repeats = repeats;
  spec.objective_value = ObjectiveValue::kMean;
  spec.pruner.kind = PrunerKind::kPairedTest;
  spec.pruner.min_chance = 0.1;
  return spec;
}

// Runs the repeats of the next trial with these values, until it ends.
TrialNumber Run(PlayedJob& job, std::initializer_list<double> values) {
  TrialNumber number = 0;
  for (const double value : values) {
    const TrialNumber started = job.Start();
    CHECK((number == 0 || started == number));
    number = started;
    job.Finish(number, value);
    if (job.trial(number).ended()) break;
  }
  return number;
}

TEST_CASE("Paired test: a part is one repeat, and the first trial has all of them", "[scheduler]") {
  PlayedJob job(RepeatedJob(5, 3));
  const TrialNumber number = Run(job, {0.5, 0.75, 1});
  const TrialState& trial = job.trial(number);
  CHECK(trial.phase == TrialPhase::kCompleted);
  CHECK(trial.value == 0.75);
  CHECK(trial.attempts == 3);
  CHECK(job.state().totals().resource == 3);
  CHECK(trial.reason == "All 3 repeats are done: the mean of score is 0.75 ± 0.144.");
}

TEST_CASE("Paired test: what is clearly worse in the same repeats is stopped after one", "[scheduler]") {
  PlayedJob job(RepeatedJob(5, 4));
  Run(job, {0.80, 0.70, 0.81, 0.71});  // the second and the fourth are hard for all
  Run(job, {0.79, 0.70, 0.80, 0.70});
  const TrialState& worse = job.trial(Run(job, {0.73, 0.64, 0.73, 0.64}));
  CHECK(worse.phase == TrialPhase::kPruned);
  CHECK(worse.curve.size() == 1);
  CHECK(worse.reason.find("Paired test: over 1 repeat, score is worse than that of trial 1 by 0.07 ± ") == 0);
  CHECK(worse.reason.find(", less than 10 %.") != std::string::npos);
  // The same value in a hard repeat is better, and goes on.
  const TrialState& better = job.trial(Run(job, {0.81, 0.72, 0.82, 0.72}));
  CHECK(better.phase == TrialPhase::kCompleted);
  CHECK(job.state().best_trial() == better.number);
}

TEST_CASE("Paired test: a lucky first repeat does not make the best trial", "[scheduler]") {
  PlayedJob job(RepeatedJob(5, 4));
  Run(job, {0.5, 0.7, 0.4, 0.6});
  const TrialNumber lucky = Run(job, {0.95, 0.1, 0.1, 0.1});
  CHECK(job.trial(lucky).curve.size() > 1);
  CHECK(job.state().best_trial() == 1);
}

TEST_CASE("Paired test: without errors the better one is known at once", "[scheduler]") {
  PlayedJob job(RepeatedJob(5, 3));
  Run(job, {0.5, 0.5, 0.5});
  CHECK(job.trial(Run(job, {0.499, 0, 0})).curve.size() == 1);
  CHECK(job.trial(Run(job, {0.5, 0.5, 0.5})).phase == TrialPhase::kCompleted);
  CHECK(job.trial(Run(job, {0.6, 0.6, 0.6})).phase == TrialPhase::kCompleted);
}

TEST_CASE("Paired test: a repeat that gives no value, or none that is finite, fails its trial",
          "[scheduler]") {
  PlayedJob job(RepeatedJob(5, 3));
  const TrialNumber silent = job.Start();
  job.Finish(silent, 0.5);
  REQUIRE(job.Start() == silent);
  job.End(silent, AttemptOutcome::kFinished);
  CHECK(job.trial(silent).phase == TrialPhase::kFailed);
  CHECK(job.trial(silent).reason == "Repeat 2 ended without a value of score.");
  const TrialNumber diverged = Run(job, {0.5, std::numeric_limits<double>::quiet_NaN()});
  CHECK(job.trial(diverged).phase == TrialPhase::kFailed);
}

TEST_CASE("Paired test: an attempt that is lost costs its repeat, not the ones before", "[scheduler]") {
  PlayedJob job(RepeatedJob(5, 3));
  const TrialNumber number = job.Start();
  job.Finish(number, 0.5);
  REQUIRE(job.Start() == number);
  job.End(number, AttemptOutcome::kLost, "the worker is silent");
  REQUIRE(job.Start() == number);
  CHECK(job.trial(number).attempt_from == 1);
  CHECK(job.trial(number).to == 2);
}

TEST_CASE("Repeat effects: what a repeat adds to all trials is no error", "[scheduler]") {
  PlayedJob job(RepeatedJob(5, 3));
  CHECK_FALSE(RepeatEffects(job.state()).known());
  Run(job, {1, 2, 6});
  const RepeatEffects one(job.state());
  CHECK(one.freedom() == 2);
  CHECK(one.variance() == Approx(7));  // ((-2)^2 + (-1)^2 + 3^2) / 2
  Run(job, {2, 3, 7});
  const RepeatEffects two(job.state());
  CHECK(two.freedom() == 2);
  CHECK(two.variance() == Approx(0).margin(1e-12));
  CHECK(two.MeanOf(job.trial(1)) == Approx(3));
  CHECK(StandardError(job.trial(1).curve) == Approx(std::sqrt(7.0 / 3)));
}

TEST_CASE("Paired test: decisions replay to the bit", "[scheduler]") {
  AnyJob any{RepeatedJob(40, 5), Slots(4)};
  any.spec.sampler.kind = SamplerKind::kGp;
  uint64_t draws = 0;
  any.simulation.objective = [&draws](const Configuration& at, int64_t) {
    return std::get<double>(at[0]) + 0.3 * RandomUnit(7, 1, Purpose::kSimulation, ++draws);
  };
  any.simulation.failure_rate = any.simulation.loss_rate = 0.05;
  const SimulationResult result = Simulate(any.spec, any.simulation);
  REQUIRE(result.state.ended());
  CHECK(result.state.totals().pruned > 5);
  CHECK(result.state.totals().completed > 1);
  const Mismatch mismatch = Verify(any.spec, result.facts);
  INFO(mismatch.recorded << " instead of " << mismatch.expected);
  CHECK(mismatch.ok());
}

}  // namespace
}  // namespace winnow
