#include "scheduler/pruners/median.h"

#include <algorithm>
#include <limits>

#include "scheduler/space/random.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

SearchSpec MedianJob(int64_t warm_up_trials) {
  SearchSpec spec = RandomJob(50, 4);
  spec.pruner.kind = PrunerKind::kMedian;
  spec.pruner.warm_up_trials = warm_up_trials;
  return spec;
}

// Trains the next trial with these values at 1, 2, …; ends it where they end.
TrialNumber TrainThrough(PlayedJob& job, std::initializer_list<double> values) {
  const TrialNumber number = job.Start();
  int64_t level = 0;
  for (double value : values) job.Report(number, ++level, value);
  job.End(number, AttemptOutcome::kFinished);
  return number;
}

TEST_CASE("Median: a trial's best so far against the median of running averages", "[scheduler]") {
  PlayedJob job(MedianJob(3));
  TrainThrough(job, {0.25, 0.5, 0.75, 1});  // averages 0.25 0.375 0.5 0.625
  TrainThrough(job, {0.125, 0.125, 0.125, 0.125});
  TrainThrough(job, {0.5, 0.75, 1, 1.25});  // averages 0.5 0.625 0.75 0.875
  const TrialNumber number = job.Start();
  job.Report(number, 1, 0.25);  // equal to the median: goes on
  job.Report(number, 2, 0.375);
  CHECK_FALSE(job.trial(number).ended());
  job.Report(number, 3, 0.125);  // its best is 0.375
  REQUIRE(job.trial(number).phase == TrialPhase::kPruned);
  CHECK(job.trial(number).reason.find(
            "Median rule: at resource 3 its best score so far, 0.375, is worse than 0.5") == 0);
  CHECK(job.trial(number).reason.find("the median of the running averages of 3 completed trials.") !=
        std::string::npos);
}

TEST_CASE("Median: no trial is stopped before enough have completed, nor below the warm-up level",
          "[scheduler]") {
  SearchSpec spec = MedianJob(2);
  spec.pruner.warm_up_resource = 3;
  PlayedJob job(spec);
  TrainThrough(job, {0.5, 0.5, 0.5, 0.5});
  TrainThrough(job, {0.1, 0.1, 0.1, 0.1});
  CHECK(job.trial(2).phase == TrialPhase::kCompleted);
  const TrialNumber number = job.Start();
  job.Report(number, 1, 0.2);
  job.Report(number, 2, 0.2);
  CHECK_FALSE(job.trial(number).ended());
  job.Report(number, 3, 0.2);
  CHECK(job.trial(number).ended());
}

TEST_CASE("Median: stopped and failed trials are no part of it", "[scheduler]") {
  PlayedJob job(MedianJob(1));
  TrainThrough(job, {0.5, 0.5, 0.5, 0.5});
  const TrialNumber stopped = job.Start(), failed = job.Start();
  job.Report(stopped, 1, 0.1);
  CHECK(job.trial(stopped).ended());
  job.Report(failed, 1, 0.9);
  job.End(failed, AttemptOutcome::kFailed, "x");
  CHECK(job.state().completed_averages().trials() == 1);
}

TEST_CASE("Median index: equals the definition on random curves with gaps", "[scheduler]") {
  MedianIndex index;
  std::vector<Curve> curves;
  for (TrialNumber n = 1; n <= 200; ++n) {
    Curve curve;
    for (int64_t level = 1; level <= 30; ++level) {
      if (RandomUnit(1, n, Purpose::kSimulation, level) < 0.6) continue;
      curve.Add(level, RandomUnit(2, n, Purpose::kSimulation, level));
    }
    index.Add(n, curve, 1);
    curves.push_back(std::move(curve));
  }
  for (int64_t level = 1; level <= 35; ++level) {
    std::vector<double> averages;
    for (const auto& curve : curves) {
      double sum = 0;
      int64_t count = 0;
      for (const auto& [at, key] : curve) {
        if (at <= level) sum += key, ++count;
      }
      if (count > 0) averages.push_back(sum / static_cast<double>(count));
    }
    std::sort(averages.begin(), averages.end());
    const size_t n = averages.size();
    const double median = n % 2 == 1 ? averages[n / 2] : (averages[n / 2 - 1] + averages[n / 2]) / 2;
    REQUIRE(index.At(level)->of == static_cast<int64_t>(n));
    REQUIRE(index.At(level)->key == Approx(median));
  }
  CHECK_FALSE(index.At(0));
}

TEST_CASE("Ranked list: equals a sorted vector", "[scheduler]") {
  RankedList list;
  std::vector<RankedList::Entry> sorted;
  for (TrialNumber n = 1; n <= 5000; ++n) {
    const RankedList::Entry entry{std::floor(100 * RandomUnit(3, n, Purpose::kSimulation, 0)), n};
    list.Add(entry);
    sorted.push_back(entry);
  }
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    REQUIRE(list.Nth(i) == sorted[i]);
    REQUIRE(list.Rank(sorted[i]) == i);
  }
  const auto below = std::count_if(sorted.begin(), sorted.end(), [](const auto& e) { return e.first < 42; });
  CHECK(list.CountBelow(42) == static_cast<size_t>(below));
}

}  // namespace
}  // namespace winnow
