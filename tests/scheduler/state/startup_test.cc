#include "scheduler/state/startup.h"

#include <cmath>

#include "scheduler/replay.h"
#include "scheduler/simulate.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

constexpr int64_t kSecond = 1'000'000;

// An attempt that took so many seconds before its first unit, and so many for each.
Startup::Part Took(double start, double unit, int64_t units) {
  const auto micros = [](double seconds) { return std::llround(seconds * static_cast<double>(kSecond)); };
  return {micros(start + unit), 1, micros(unit * static_cast<double>(units - 1)), units - 1};
}

// The facts of one attempt of trial 1, given by hand.
struct Attempt {
  explicit Attempt(const SearchSpec& spec) : state(spec) {
    Apply(0, TrialCreated{1, {0.5}, -1, 0, 9});
    Place(1);
  }
  void Apply(double seconds, FactBody body) {
    state.Apply({state.last_sequence() + 1, kSecond + std::llround(seconds * kSecond), std::move(body)});
  }
  void Place(int64_t attempt) { Apply(0, AttemptStarted{1, attempt, state.trial(1).checkpoint, 9}); }
  void Report(double seconds, int64_t attempt, int64_t level) {
    Apply(seconds, Reported{1, attempt, level, 0.5});
  }
  // Ends a process that was started at second 1.
  void End(double seconds, AttemptOutcome outcome = AttemptOutcome::kFinished) {
    Apply(seconds, AttemptEnded{1, state.trial(1).attempts, outcome, "", 2 * kSecond,
                                kSecond + std::llround(seconds * kSecond)});
  }
  JobState state;
};

TEST_CASE("Start-up: the medians of what comes before the first unit, and of units", "[scheduler]") {
  Startup startup;
  CHECK_FALSE(startup.seconds());
  CHECK_FALSE(startup.unit_seconds());
  CHECK(startup.Units(100, false) == 0);
  CHECK(startup.total_seconds() == 0);
  for (const double seconds : {7.0, 9.0, 600.0}) startup.Add(Took(seconds, 2, 5));
  CHECK(*startup.seconds() == Approx(9));
  CHECK(*startup.unit_seconds() == Approx(2));
  CHECK(startup.total_seconds() == Approx(616));
}

TEST_CASE("Start-up: an attempt of one level is measured by the units of others", "[scheduler]") {
  Startup startup;
  startup.Add(Took(8, 3, 1));
  CHECK_FALSE(startup.seconds());  // 11 seconds of what?
  CHECK(startup.total_seconds() == 0);
  startup.Add(Took(8, 3, 2));
  CHECK(*startup.seconds() == Approx(8));
  CHECK(startup.total_seconds() == Approx(16));
}

TEST_CASE("Start-up: a trial is measured by its own units", "[scheduler]") {
  Startup startup;
  startup.Add(Took(8, 1, 3));
  startup.Add(Took(8, 100, 3));  // a large network
  startup.Add(Took(8, 2, 3));
  CHECK(*startup.seconds() == Approx(8));
  CHECK(*startup.unit_seconds() == Approx(2));
}

TEST_CASE("Start-up: reports that come all at once, or before their process, say nothing", "[scheduler]") {
  Startup startup;
  startup.Add({60 * kSecond, 1, 1000, 50});     // written when the trainer ended
  startup.Add({60 * kSecond, 1, 0, 50});
  startup.Add({-1, 1, kSecond, 1});             // a clock that was set back
  startup.Add({kSecond, 1, -1, 1});
  startup.Add({kSecond, 0, kSecond, 1});        // it went on from nowhere
  CHECK(startup == Startup());
}

TEST_CASE("Start-up: in units a second is free, and what hardly differs is alike", "[scheduler]") {
  const auto units = [](double start, double unit) { return Startup::Units(start, unit, 1000, false); };
  CHECK(units(0.9, 0.001) == 0);
  CHECK(units(1.2, 1) == 0);
  CHECK(units(9, 1) == 8);
  CHECK(units(8, 1) == 8);
  CHECK(units(11, 1) == 8);
  CHECK(units(9, 16) == 0.5);
  CHECK(units(1e6, 1) == 1000);
  CHECK(units(9, 0.5) == 16);
}

TEST_CASE("Start-up: where time alone limits a job, all of it counts, and the pause before it",
          "[scheduler]") {
  CHECK(Startup::Units(0.004, 0.001, 1000, true) == 4);
  CHECK(Startup::Units(0.0004, 0.001, 1000, true) == 0);
  Startup startup;
  startup.AddRun(0, 10 * kSecond);
  CHECK(startup.pause_seconds() == 0);
  startup.AddRun(13 * kSecond, 20 * kSecond);
  startup.AddRun(19 * kSecond, 30 * kSecond);  // beside the one before: 9 s after the first
  startup.AddRun(34 * kSecond, 40 * kSecond);
  CHECK(startup.pause_seconds() == Approx(4));
  startup.Add(Took(4, 1, 3));
  CHECK(startup.Units(1000, true) == 8);
  CHECK(startup.Units(1000, false) == 4);

  Limits limits;
  CHECK_FALSE(limits.time_alone());
  limits.max_node_time_us = 1;
  CHECK(limits.time_alone());
  limits.max_trials = 1;
  CHECK_FALSE(limits.time_alone());
}

TEST_CASE("Start-up: the newest attempts count", "[scheduler]") {
  Startup startup;
  for (int i = 0; i < 100; ++i) startup.Add(Took(50, 1, 3));
  for (int i = 0; i < 64; ++i) startup.Add(Took(5, 1, 3));
  CHECK(*startup.seconds() == Approx(5));
  CHECK(startup.total_seconds() == Approx(100 * 50 + 64 * 5));
}

TEST_CASE("Start-up: a state measures from the process's start to the first report, and to the last",
          "[scheduler]") {
  Attempt job(RandomJob(1, 9));
  job.Report(10, 1, 1);
  job.Report(12, 1, 2);
  job.Report(16, 1, 4);
  job.Report(17, 1, 3);  // late: neither the first nor the highest level
  CHECK_FALSE(job.state.startup().seconds());
  job.End(20);
  CHECK(*job.state.startup().unit_seconds() == Approx(2));
  CHECK(*job.state.startup().seconds() == Approx(7));
}

TEST_CASE("Start-up: an attempt that never reported is start-up and no measure", "[scheduler]") {
  Attempt job(RandomJob(1, 9));
  job.End(31, AttemptOutcome::kLost);
  CHECK_FALSE(job.state.startup().seconds());
  job.Apply(31, TrialResumed{1, 0, 9, ""});
  job.Place(2);
  job.Report(4, 2, 1);
  job.Report(5, 1, 2);  // of the lost attempt
  job.Report(6, 2, 3);
  job.End(9);
  CHECK(*job.state.startup().seconds() == Approx(2));
  CHECK(job.state.startup().total_seconds() == Approx(30 + 2));
  CHECK(std::isfinite(job.state.startup().Units(9, true)));
}

TEST_CASE("Start-up: an attempt that never ran says nothing", "[scheduler]") {
  Attempt job(RandomJob(1, 9));
  job.Apply(5, AttemptEnded{1, 1, AttemptOutcome::kLost, "", 0, 0});
  CHECK(job.state.startup() == Startup());
}

TEST_CASE("Start-up: a resumed part is measured from its checkpoint", "[scheduler]") {
  SearchSpec spec = HyperbandJob(9, 3);
  spec.pruner.kind = PrunerKind::kAsha;
  Simulation simulation = Slots(1);
  simulation.unit_seconds = 4;
  simulation.start_seconds = 12;
  spec.limits.max_trials = 9;
  const SimulationResult result = Simulate(spec, simulation);
  CHECK(*result.state.startup().seconds() == Approx(12).epsilon(0.1));
  CHECK(*result.state.startup().unit_seconds() == Approx(5).epsilon(0.2));  // of 4 to 6
  CHECK(result.state.startup().total_seconds() == Approx(result.startup_slot_seconds).epsilon(0.1));
}

TEST_CASE("Start-up: a loaded state has measured what a live one has", "[scheduler]") {
  AnyJob job = DrawJob(7, 3, Strategy{SamplerKind::kGp, PrunerKind::kFreezeThaw});
  job.simulation.start_seconds = 20;
  const SimulationResult result = Simulate(job.spec, job.simulation);
  JobState loaded(job.spec);
  for (const Fact& fact : result.facts) loaded.Apply(fact);
  CHECK(loaded.startup() == result.state.startup());
  CHECK(loaded == result.state);
  CHECK(Verify(job.spec, result.facts).ok());
}

}  // namespace
}  // namespace winnow
