#include "scheduler/completion.h"

#include <algorithm>
#include <cmath>

#include "scheduler/replay.h"
#include "scheduler/space/random.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

// Trials of one unit, one after the other, with these values of "score" until the job ends; how many there
// were.
int Play(PlayedJob& job, const std::vector<double>& values) {
  int played = 0;
  for (double value : values) {
    const TrialNumber number = job.Start();
    if (number == 0) break;
    job.Finish(number, value);
    ++played;
  }
  return played;
}

SearchSpec Job(Completion completion, Goal goal = Goal::kMaximize) {
  SearchSpec spec = RandomJob(1000, 1);
  spec.completion = completion;
  spec.goal = goal;
  return spec;
}

TEST_CASE("Completion: the target ends the job as soon as it is reported, and those that run end with it",
          "[scheduler]") {
  PlayedJob job(Job({0.9, 0, 0.01, 0, {}}));
  REQUIRE((job.Start() == 1 && job.Start() == 2));
  job.Report(1, 1, 0.89);
  CHECK_FALSE(job.state().completion_met());
  job.Report(2, 1, 0.9);
  const std::string reason =
      "The target is reached: trial 2 reported score = 0.9 at resource 1; target_objective is 0.9.";
  CHECK(job.state().completion_met()->reason == reason);
  CHECK(job.trial(1).reason == reason);
  CHECK(job.Start() == 0);
  job.End(1, AttemptOutcome::kStopped);
  job.End(2, AttemptOutcome::kStopped);
  CHECK(job.state().ended()->end == JobEnd::kCompleted);
  CHECK(job.state().ended()->reason == reason);
}

TEST_CASE("Completion: a target to be minimised, and values that are no numbers", "[scheduler]") {
  PlayedJob job(Job({0.5, 0, 0.01, 0, {}}, Goal::kMinimize));
  CHECK(Play(job, {0.6, NAN, -INFINITY, 0.51, 0.49, 0.1}) == 5);
}

TEST_CASE("Completion: a second report of a level does not reach the target", "[scheduler]") {
  PlayedJob job(Job({0.9, 0, 0.01, 0, {}}));
  job.Start();
  job.Report(1, 1, 0.5);
  job.Report(1, 1, 0.95);
  CHECK_FALSE(job.state().completion_met());
}

TEST_CASE("Completion: three trials without improvement end the job, a small one is none", "[scheduler]") {
  PlayedJob job(Job({{}, 3, 0.1, 0, {}}));
  // 1.05 and 1.09 better 1 by less than a tenth of it; 1.2 does better.
  CHECK(Play(job, {0.5, 1, 1.05, 1.2, 1.1, 1.09, 1.3, 2, 2.5}) == 7);
  CHECK(job.state().ended()->reason ==
        "No improvement: the last 3 trials that ended did not improve on score = 1.2 by more than 10 %.");
}

TEST_CASE("Completion: a trial that goes on and is better keeps the job from ending", "[scheduler]") {
  for (const Completion& rules : {Completion{{}, 2, 0.1, 0, {}}, Completion{{}, 0, 0, 0.1, {}}}) {
    PlayedJob job(Job(rules));
    const TrialNumber better = job.Start();
    job.Report(better, 1, 1.2);
    CHECK(Play(job, std::vector<double>(25, 1)) == 25);
    CHECK_FALSE(job.state().completion_met());
    job.End(better, AttemptOutcome::kFinished);
    CHECK(Play(job, std::vector<double>(25, 1)) < 25);
  }
}

TEST_CASE("Completion: trials that fail count among those without improvement", "[scheduler]") {
  PlayedJob job(Job({{}, 2, 0, 0, {}}, Goal::kMinimize));
  CHECK(Play(job, {-1}) == 1);
  job.End(job.Start(), AttemptOutcome::kFailed, "no memory");
  CHECK_FALSE(job.state().completion_met());
  CHECK(Play(job, {NAN, -3}) == 1);
  CHECK(job.state().completion_met());
}

TEST_CASE("Completion: nothing is said before a first finite objective", "[scheduler]") {
  PlayedJob job(Job({{}, 2, 0, 0, {}}));
  CHECK(Play(job, {NAN, NAN, NAN, NAN, 0.1, NAN, NAN, NAN}) == 7);
}

SearchSpec FailingJob(int64_t first_failures) {
  SearchSpec spec = RandomJob(20, 1);
  spec.limits.max_first_failures = first_failures;
  return spec;
}

TEST_CASE("Completion: first trials that all fail end the job, with what the trainer said", "[scheduler]") {
  const SearchSpec spec = FailingJob(3);
  PlayedJob job(spec);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(job.Start() == i + 1);
    job.End(i + 1, AttemptOutcome::kFailed, "no column w.");
  }
  CHECK(job.Start() == 0);
  CHECK(job.state().ended()->end == JobEnd::kFailed);
  CHECK(job.state().ended()->reason ==
        "All of the first 3 trials failed before any had reported a value of score "
        "(limits.max_first_failures is "
        "3). Trial 1 failed: no column w.");
  CHECK(Verify(spec, job.facts()).ok());
  // Where it is off, as in a job that was recorded without it, all are tried.
  PlayedJob without(FailingJob(0));
  int failed = 0;
  for (TrialNumber number; (number = without.Start()) > 0; ++failed)
    without.End(number, AttemptOutcome::kFailed, "no column w.");
  CHECK(failed == 20);
}

TEST_CASE("Completion: trials beside the first that fail are waited for, as they may be slow",
          "[scheduler]") {
  PlayedJob job(FailingJob(2));
  REQUIRE((job.Start() == 1 && job.Start() == 2 && job.Start() == 3));
  job.End(1, AttemptOutcome::kFailed, "no file");
  job.End(3, AttemptOutcome::kFailed, "no file");
  CHECK_FALSE(job.state().completion_met());
  REQUIRE(job.Start() == 4);  // meanwhile no slot is idle
  SECTION("one reports: the rule is over") {
    job.Report(2, 1, NAN);
    job.End(2, AttemptOutcome::kFailed, "two");
    for (int i = 4; i < 9; ++i) {
      job.End(i, AttemptOutcome::kFailed, "later");
      REQUIRE(job.Start() == i + 1);
    }
  }
  SECTION("it fails too") {
    job.End(2, AttemptOutcome::kFailed, "two");
    CHECK(job.state().completion_met()->reason ==
          "All of the first 3 trials failed before any had reported a value of score "
          "(limits.max_first_failures "
          "is 2). Trial 1 failed: no file");
    CHECK(job.trial(4).reason == job.state().completion_met()->reason);
    job.End(4, AttemptOutcome::kStopped);
    CHECK(job.state().ended()->reason == job.state().completion_met()->reason);
  }
}

TEST_CASE(
    "Completion: first trials that fail in different words may be bad configurations, unless they are many",
    "[scheduler]") {
  PlayedJob job(FailingJob(2));
  int failed = 0;
  for (TrialNumber number; (number = job.Start()) > 0; ++failed)
    job.End(number, AttemptOutcome::kFailed, "diverged at step " + std::to_string(number));
  CHECK(failed == 8);
  CHECK_THAT(job.state().ended()->reason, Catch::EndsWith("Trial 1 failed: diverged at step 1"));
}

TEST_CASE("Completion: what the machines lose is no failure of the trainer's", "[scheduler]") {
  SearchSpec spec = FailingJob(1);
  spec.limits.max_lost_attempts = 1;
  PlayedJob job(spec);
  job.End(job.Start(), AttemptOutcome::kLost, "its worker was lost");
  CHECK(job.trial(1).phase == TrialPhase::kFailed);
  CHECK_FALSE(job.state().completion_met());
  job.End(job.Start(), AttemptOutcome::kFinished);  // without a value
  CHECK_THAT(job.state().ended()->reason,
             Catch::StartsWith("All of the first 2 trials failed before") &&
                 Catch::EndsWith("Trial 2 failed: It ended without a value of score."));
}

TEST_CASE("Completion: equal objectives have converged at twenty trials", "[scheduler]") {
  PlayedJob job(Job({{}, 0, 0, 0.001, {}}));
  CHECK(Play(job, std::vector<double>(30, 0.7)) == 20);
  CHECK(job.state().ended()->reason ==
        "Converged: twice as many trials would improve score = 0.7 by about 0, less than the tolerance of "
        "0.1 %.");
}

TEST_CASE("Completion: the expected gain is ln 2 of the mean of the spacings of the best quarter",
          "[scheduler]") {
  // The best five are 10, 9.8, 9.6, 9.4, 9.2, then 9: i times the spacing 0.2 is 0.6 on average, times ln 2
  // 0.416.
  std::vector<double> values = {9.2, 9.8, 10, 9.6, 9.4, 9};
  while (values.size() < 20) values.push_back(1);
  PlayedJob wider(Job({{}, 0, 0, 0.0417, {}})), narrower(Job({{}, 0, 0, 0.0415, {}}));
  CHECK((Play(wider, values) == 20 && Play(narrower, values) == 20));
  CHECK(wider.state().completion_met()->reason ==
        "Converged: twice as many trials would improve score = 10 by about 0.416, less than the tolerance of "
        "4.17 %.");
  CHECK_FALSE(narrower.state().completion_met());
}

TEST_CASE("Completion: of an exponential tail the expected gain is foretold without bias", "[scheduler]") {
  double foretold = 0;
  constexpr int kJobs = 400, kTrials = 80;
  for (uint64_t seed = 1; seed <= kJobs; ++seed) {
    OrderedSums keys;
    for (uint64_t i = 0; i < kTrials; ++i) {
      keys.Add(std::log1p(-RandomUnit(seed, 1, Purpose::kSimulation, i)));  // scale 1, negated
    }
    foretold += (keys.Nth(kTrials / 4) - keys.SumOfLeast(kTrials / 4) / (kTrials / 4.0)) / kJobs;
  }
  CHECK(foretold == Approx(1).margin(0.03));
}

TEST_CASE("Completion: sums of the least of many numbers are those of the sorted numbers", "[scheduler]") {
  OrderedSums sums;
  std::vector<double> values;
  for (uint64_t i = 0; i < 5000; ++i) {
    const double value = std::floor(RandomUnit(1, 1, Purpose::kSimulation, i) * 2000);
    sums.Add(i % 1000 == 7 ? 1e300 : value);
    values.push_back(i % 1000 == 7 ? 1e300 : value);
  }
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (size_t count = 0; count < 4990; ++count) {
    REQUIRE(sums.SumOfLeast(static_cast<int64_t>(count)) == sum);
    REQUIRE(sums.Nth(static_cast<int64_t>(count)) == values[count]);
    sum += values[count];
  }
}

}  // namespace
}  // namespace winnow
