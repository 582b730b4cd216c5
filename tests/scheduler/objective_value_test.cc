// What a trial counts for when trials are ranked: its best value, its last, or the mean.

#include <cmath>
#include <initializer_list>

#include "scheduler/completion.h"
#include "scheduler/replay.h"
#include "scheduler/samplers/trial_model.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

constexpr ObjectiveValue kAll[] = {ObjectiveValue::kBest, ObjectiveValue::kLast, ObjectiveValue::kMean};

SearchSpec Job(ObjectiveValue counts, int64_t trials = 50, int64_t levels = 5) {
  SearchSpec spec = RandomJob(trials, levels);
  spec.objective_value = counts;
  return spec;
}

// The next trial reports these values at 1, 2, … and goes on.
TrialNumber Begin(PlayedJob& job, std::initializer_list<double> values) {
  const TrialNumber number = job.Start();
  int64_t level = 0;
  for (const double value : values) job.Report(number, ++level, value);
  return number;
}

TrialNumber Train(PlayedJob& job, std::initializer_list<double> values) {
  const TrialNumber number = Begin(job, values);
  job.End(number, AttemptOutcome::kFinished);
  return number;
}

// As after a restart, and decided again.
void CheckLoads(const PlayedJob& job) {
  JobState loaded(job.state().spec());
  for (const Fact& fact : job.facts()) loaded.Apply(fact);
  CHECK(loaded == job.state());
  CHECK(Verify(job.state().spec(), job.facts()).ok());
}

TEST_CASE("Curve: the mean is the same to the bit, in whatever order the levels came", "[scheduler]") {
  const Curve rising = {{1, 0.1}, {2, 0.7}, {3, 1e-9}, {4, 1e9}},
              mixed = {{3, 1e-9}, {1, 0.1}, {4, 1e9}, {2, 0.7}};
  CHECK(rising == mixed);
  CHECK(rising.mean() == mixed.mean());
}

TEST_CASE("Objective value: of folds the best mean wins, not the luckiest fold", "[scheduler]") {
  for (const ObjectiveValue counts : kAll) {
    PlayedJob job(Job(counts));
    Train(job, {0.9917, 0.97, 0.98, 0.975, 0.98});     // mean 0.97934, last 0.98
    Train(job, {0.985, 0.986, 0.984, 0.985, 0.9855});  // mean 0.9851, last 0.9855
    Train(job, {0.98, 0.97, 0.97, 0.97, 0.99});        // mean 0.976, last 0.99
    const TrialNumber winner = counts == ObjectiveValue::kBest ? 1 : counts == ObjectiveValue::kLast ? 3 : 2;
    CHECK(job.state().best_trial() == winner);
    CHECK(job.trial(2).best_objective == 0.986);  // is told whatever counts
    CHECK(job.trial(2).best_resource == 2);
    CHECK(job.trial(2).value_resource == (counts == ObjectiveValue::kBest ? 2 : 5));
    if (counts == ObjectiveValue::kMean) CHECK(job.trial(2).value == Approx(0.9851));
    CheckLoads(job);
  }
}

TEST_CASE("Objective value: an overfitted trial counts with its last value", "[scheduler]") {
  SearchSpec spec = Job(ObjectiveValue::kLast);
  spec.goal = Goal::kMinimize;
  PlayedJob job(spec);
  Train(job, {0.5, 0.2, 0.3, 0.6, 0.9});
  Train(job, {0.6, 0.5, 0.45, 0.42, 0.4});
  CHECK(job.state().best_trial() == 2);
  CHECK(job.trial(1).value == 0.9);
  CHECK(job.trial(1).best_objective == 0.2);
  CheckLoads(job);
}

TEST_CASE("Objective value: who has completed comes before who was trained part of the way", "[scheduler]") {
  for (const ObjectiveValue counts : kAll) {
    PlayedJob job(Job(counts));
    const TrialNumber lucky = Begin(job, {0.99});
    CHECK(job.state().best_trial() == lucky);  // there is no other yet
    const TrialNumber whole = Train(job, {0.95, 0.95, 0.95, 0.95, 0.95});
    CHECK(job.state().best_trial() == (counts == ObjectiveValue::kBest ? lucky : whole));
    CHECK(job.state().leading_trial() == lucky);
    CheckLoads(job);
  }
}

TEST_CASE(
    "Objective value: a trial with a value that is no number is never the best, whatever it reports later",
    "[scheduler]") {
  PlayedJob last(Job(ObjectiveValue::kLast)), mean(Job(ObjectiveValue::kMean));
  for (PlayedJob* job : {&last, &mean}) {
    Begin(*job, {0.9, NAN});
    Begin(*job, {0.1, 0.1});
    CHECK(job->state().best_trial() == 2);
    CHECK(job->trial(1).value_resource == 0);
    job->Report(1, 3, 0.8);
    CheckLoads(*job);
  }
  CHECK(last.state().best_trial() == 2);
  CHECK(mean.state().best_trial() == 2);
}

TEST_CASE("Objective value: reports in any order give the same", "[scheduler]") {
  for (const ObjectiveValue counts : kAll) {
    PlayedJob rising(Job(counts)), mixed(Job(counts));
    for (PlayedJob* job : {&rising, &mixed}) job->Start();
    for (const int64_t level : {1, 2, 3, 4, 5}) rising.Report(1, level, 0.1 / static_cast<double>(level));
    for (const int64_t level : {4, 2, 5, 1, 3}) mixed.Report(1, level, 0.1 / static_cast<double>(level));
    CHECK(Identical(rising.trial(1).value, mixed.trial(1).value));
    CHECK(rising.trial(1).value_resource == mixed.trial(1).value_resource);
    CHECK(mixed.trial(1).counted_at(5, counts) ==
          (counts == ObjectiveValue::kBest ? 0.1 / 5 : mixed.trial(1).value));
    CheckLoads(mixed);
  }
}

TEST_CASE("Objective value: a rung is cut by the mean up to its level, where that counts", "[scheduler]") {
  for (const ObjectiveValue counts : kAll) {
    SearchSpec spec = HyperbandJob(9, 3);
    spec.pruner.rungs.min_resource = 3;
    spec.objective_value = counts;
    PlayedJob job(spec);
    const int trials = job.StartAll();
    for (TrialNumber number = 1; number <= 3; ++number) {
      const double first = number == 1 ? 0.9 : 0.1;  // so its mean is the best, and its last value the worst
      job.Report(number, 1, first);
      job.Report(number, 2, first);
      job.Finish(number, 0.1 * static_cast<double>(number));
    }
    for (TrialNumber number = 4; number <= trials; ++number) job.Finish(number, 0);
    const auto& cut = job.Newest<RungCut>();
    CHECK(cut.ranking.front() == (counts == ObjectiveValue::kMean ? 1 : 3));
    CheckLoads(job);
  }
}

TEST_CASE("Objective value: intermediate values prune whatever counts", "[scheduler]") {
  for (const ObjectiveValue counts : kAll) {
    SearchSpec spec = Job(counts);
    spec.pruner.kind = PrunerKind::kMedian;
    spec.pruner.warm_up_trials = 2;
    PlayedJob job(spec);
    Train(job, {0.5, 0.5, 0.5, 0.5, 0.5});
    Train(job, {0.5, 0.5, 0.5, 0.5, 0.5});
    const TrialNumber number = Begin(job, {0.8, 0.4});
    // Its best is above the median, and so is its mean; its last value is not.
    CHECK((job.trial(number).phase == TrialPhase::kPruned) == (counts == ObjectiveValue::kLast));
    job.Report(job.Start(), 1, 0.2);
    CHECK(job.state().trials().back().phase == TrialPhase::kPruned);
    CheckLoads(job);
  }
}

TEST_CASE("Objective value: a target is met by what has completed, where the last or the mean counts",
          "[scheduler]") {
  for (const ObjectiveValue counts : {ObjectiveValue::kLast, ObjectiveValue::kMean}) {
    SearchSpec spec = Job(counts);
    spec.completion.target_objective = 0.6;
    PlayedJob job(spec);
    Train(job, {0.9, 0.9, 0.1, 0.1, 0.1});  // neither its last value nor its mean is enough
    CHECK_FALSE(job.state().completion_met());
    const TrialNumber number = Begin(job, {0.9, 0.8, 0.8, 0.7, 0.7});
    CHECK_FALSE(job.state().completion_met());
    job.End(number, AttemptOutcome::kFinished);
    REQUIRE(job.state().completion_met());
    CHECK(
        job.state().completion_met()->reason ==
        (counts == ObjectiveValue::kLast
             ? "The target is reached: trial 2 has completed with score = 0.7 at resource 5; "
               "target_objective is 0.6."
             : "The target is reached: trial 2 has completed with score = 0.78 on average up to resource 5; "
               "target_objective is 0.6."));
    CheckLoads(job);
  }
}

TEST_CASE("Objective value: improvement is that of what trials count", "[scheduler]") {
  for (const ObjectiveValue counts : kAll) {
    SearchSpec spec = Job(counts);
    spec.completion.no_improvement_trials = 2;
    PlayedJob job(spec);
    Train(job, {0.9, 0.1, 0.1, 0.1, 0.1});
    Train(job, {0.3, 0.4, 0.5, 0.6, 0.7});  // better in its last value and its mean, worse in its best
    Train(job, {0.1, 0.1, 0.1, 0.1, 0.1});
    CHECK(job.state().completion_met().has_value() == (counts == ObjectiveValue::kBest));
    CheckLoads(job);
  }
}

TEST_CASE("Objective value: a model learns what trials count", "[scheduler]") {
  for (const ObjectiveValue counts : kAll) {
    SearchSpec spec = Job(counts);
    spec.sampler.kind = SamplerKind::kGp;
    PlayedJob job(spec);
    for (int i = 0; i < 4; ++i) {  // later ones would be chosen by the model
      const double end = 0.1 * i;
      Train(job, {0.9, 0.5, 0.5, 0.5, end});
    }
    const TrialModel model(job.state());
    const double most = model.ToObjective(model.best());
    if (counts == ObjectiveValue::kBest) CHECK(most == Approx(0.9).margin(0.05));
    if (counts == ObjectiveValue::kLast) CHECK(most < 0.55);
    if (counts == ObjectiveValue::kMean) CHECK(most < 0.65);
  }
}

}  // namespace
}  // namespace winnow
