// Several objectives and metric constraints, played by hand.

#include <cmath>
#include <set>

#include "scheduler/validate.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

// "gain" up and "size" down.
SearchSpec WithTwo(SearchSpec spec) {
  spec.objectives = {{"gain", Goal::kMaximize, {}}, {"size", Goal::kMinimize, {}}};
  spec.objective_metric = "gain";
  spec.goal = Goal::kMaximize;
  spec.objective_value = ObjectiveValue::kLast;
  return spec;
}

SearchSpec WithConstraint(SearchSpec spec) {
  spec.metric_constraints.push_back({.metric = "memory", .at_most = 10});
  return spec;
}

void Report(PlayedJob& job, TrialNumber number, int64_t level, double gain, double size) {
  job.Record(Reported{number, job.trial(number).attempts, level, size, 1});
  job.Record(Reported{number, job.trial(number).attempts, level, gain, 0});
}

// Reports at the level that the attempt was to reach, then ends it.
void Finish(PlayedJob& job, TrialNumber number, double gain, double size) {
  Report(job, number, job.trial(number).to, gain, size);
  job.End(number, AttemptOutcome::kFinished);
}

std::vector<TrialNumber> Front(const PlayedJob& job) {
  std::vector<TrialNumber> numbers;
  for (const Standing& standing : job.state().front()) numbers.push_back(standing.number);
  return numbers;
}

std::string Errors(const SearchSpec& spec) {
  std::string text;
  for (const Violation& violation : ValidateSearch(spec))
    text += violation.field + " " + violation.description + "\n";
  return text;
}

TEST_CASE("Objectives: Hyperband's cut goes by fronts and says so", "[scheduler]") {
  PlayedJob job(WithTwo(HyperbandJob(3, 3, 3)));
  REQUIRE(job.StartAll() == 3);
  REQUIRE(job.state().brackets()[0].width(0) == 2);
  Finish(job, 1, 1, 5);
  Finish(job, 2, 2, 4);  // dominates trial 1
  const auto& cut = job.Newest<RungCut>();
  CHECK(cut.ranking == std::vector<TrialNumber>{2, 1});
  CHECK(cut.promoted == 1);
  CHECK(std::isnan(cut.cutoff));
  // The worst with a tenth of the range, in the objectives' own units.
  CHECK(cut.reference == std::vector<double>{0.9, 5.1});
  CHECK_FALSE(job.state().brackets()[0].rungs[0].cutoff);
  CHECK(job.trial(1).phase == TrialPhase::kPruned);
  CHECK(job.trial(1).reason ==
        "Hyperband: bracket 1 (s = 1), rung 1 at resource 1: rank 2 of 2 with gain = 1, size = 5 (front 2); "
        "the "
        "best 1 go on.");
  CHECK(job.Newest<TrialResumed>().reason ==
        "Hyperband: bracket 1 (s = 1), rung 1 at resource 1: rank 1 of 2 with gain = 2, size = 4 (front 1); "
        "goes on "
        "to resource 3.");
}

TEST_CASE("Objectives: within a front the cut keeps the spread, not the crowd", "[scheduler]") {
  SearchSpec spec = WithTwo(HyperbandJob(9, 3, 9));
  spec.pruner.kind = PrunerKind::kSuccessiveHalving;
  PlayedJob job(spec);
  REQUIRE(job.StartAll() == 9);
  // One front: seven trials close together and two far away from them.
  for (TrialNumber n = 1; n <= 7; ++n)
    Finish(job, n, 1 + 0.001 * static_cast<double>(n), 1 + 0.001 * static_cast<double>(n));
  Finish(job, 8, 5, 6);
  Finish(job, 9, 10, 20);
  const auto& cut = job.Newest<RungCut>();
  REQUIRE(cut.promoted == 3);
  const std::set<TrialNumber> kept(cut.ranking.begin(), cut.ranking.begin() + 3);
  CHECK(kept.count(8) == 1);
  CHECK(kept.count(9) == 1);
}

TEST_CASE("Objectives: ASHA promotes from the first front", "[scheduler]") {
  SearchSpec spec = WithTwo(HyperbandJob(9, 3, 6));
  spec.pruner.kind = PrunerKind::kAsha;
  PlayedJob job(spec);
  REQUIRE(job.StartAll() == 6);
  Finish(job, 1, 1, 5);
  Finish(job, 2, 2, 4);
  Finish(job, 3, 1.5, 4.5);
  CHECK(job.Start() == 2);
  CHECK(
      job.Newest<TrialResumed>().reason ==
      "ASHA: rung 1 at resource 1: rank 1 of 3 with gain = 2, size = 4 (front 1), of the best 1; goes on to "
      "resource 3.");
}

TEST_CASE("Objectives: ASHA's stopping form waits for all objectives of a level", "[scheduler]") {
  SearchSpec spec = WithTwo(HyperbandJob(9, 3, 4));
  spec.pruner.kind = PrunerKind::kAsha;
  spec.pruner.asha_form = AshaForm::kStopping;
  PlayedJob job(spec);
  REQUIRE(job.StartAll() == 4);
  Report(job, 1, 1, 2, 4);
  job.Record(Reported{2, 1, 1, 9, 1});  // the size alone
  CHECK_FALSE(job.trial(2).ended());
  CHECK(job.state().brackets()[0].rungs[0].size() == 1);
  job.Record(Reported{2, 1, 1, 1, 0});
  CHECK(job.trial(2).phase == TrialPhase::kPruned);
  CHECK(job.trial(2).reason ==
        "ASHA: rung 1 at resource 1: rank 2 of 2 with gain = 1, size = 9 (front 2); of fewer than 3 only the "
        "best "
        "passes.");
}

TEST_CASE("Objectives: MEDIAN stops only what is worse in every objective", "[scheduler]") {
  SearchSpec spec = WithTwo(RandomJob(4, 2));
  spec.pruner.kind = PrunerKind::kMedian;
  spec.pruner.warm_up_trials = 1;
  PlayedJob job(spec);
  const TrialNumber first = job.Start();
  Report(job, first, 1, 5, 5);
  Finish(job, first, 5, 5);
  REQUIRE(job.StartAll() == 3);
  Report(job, 2, 1, 1, 4);  // worse in one
  CHECK_FALSE(job.trial(2).ended());
  Report(job, 3, 1, 4, 6);
  CHECK(job.trial(3).phase == TrialPhase::kPruned);
  CHECK(job.trial(3).reason ==
        "Median rule: at resource 1 its gain, 4, is worse than 5, and its size, 6, is worse than 5, the "
        "medians of "
        "the running averages of 1 completed trial.");
}

TEST_CASE("Objectives: the front follows newest values, failures and what comes forward", "[scheduler]") {
  PlayedJob job(WithTwo(RandomJob(3, 4)));
  REQUIRE(job.StartAll() == 3);
  Report(job, 1, 1, 2, 2);
  Report(job, 2, 1, 1, 3);
  CHECK(Front(job) == std::vector<TrialNumber>{1});
  Report(job, 1, 2, 3, 9);  // larger now: the second is no longer dominated
  CHECK(Front(job) == std::vector<TrialNumber>{1, 2});
  Report(job, 3, 1, 3, 9);  // equal to the first: neither dominates
  CHECK(Front(job) == std::vector<TrialNumber>{1, 2, 3});
  job.End(2, AttemptOutcome::kFailed);
  CHECK(Front(job) == std::vector<TrialNumber>{1, 3});
  CHECK_FALSE(job.state().best_trial());
  CHECK(job.state().any_finite_objective());
}

TEST_CASE("Objectives: one that diverges or is never reported fails the trial by its name", "[scheduler]") {
  PlayedJob job(WithTwo(RandomJob(2, 4)));
  REQUIRE(job.StartAll() == 2);
  job.Record(Reported{1, 1, 1, kNaN, 1});
  CHECK(job.trial(1).reason == "Diverged: size was nan at resource 1.");
  job.End(1, AttemptOutcome::kStopped);
  job.Record(Reported{2, 1, 4, 1, 0});
  job.End(2, AttemptOutcome::kFinished);
  CHECK(job.trial(2).reason == "It ended without a value of size.");
  REQUIRE(job.state().ended());
  CHECK(job.state().ended()->end == JobEnd::kFailed);
}

TEST_CASE("Constraints: the best trial is the best that satisfies them", "[scheduler]") {
  for (const ObjectiveValue counts : {ObjectiveValue::kBest, ObjectiveValue::kLast}) {
    SearchSpec spec = WithConstraint(RandomJob(3, 2));
    spec.objective_value = counts;
    PlayedJob job(spec);
    REQUIRE(job.StartAll() == 3);
    job.Report(1, 1, 5);
    CHECK(job.state().best_trial() == 1);  // not known to violate it
    job.Record(Reported{1, 1, 2, 11, 1});
    CHECK_FALSE(job.state().best_trial());
    CHECK(job.trial(1).violation == 1);
    job.Report(2, 2, 3);
    job.Record(Reported{2, 1, 2, 10, 1});
    CHECK(job.state().best_trial() == 2);
    // Completed without the metric: it is not known to satisfy the constraint.
    job.Finish(3, 9);
    CHECK(std::isinf(job.trial(3).violation));
    CHECK(job.state().best_trial() == 2);
    job.End(2, AttemptOutcome::kFinished);
    job.Report(1, 2, 5);
    job.End(1, AttemptOutcome::kFinished);
    CHECK(job.state().best_trial() == 2);
    CHECK(job.state().ended()->end == JobEnd::kCompleted);
  }
}

TEST_CASE("Constraints: a trial that is known to satisfy them is better than one that is not",
          "[scheduler]") {
  PlayedJob job(WithConstraint(RandomJob(3, 2)));
  REQUIRE(job.StartAll() == 3);
  job.Report(1, 1, 5);
  job.Report(2, 1, 3);
  CHECK(job.state().best_trial() == 1);
  job.Record(Reported{2, 1, 1, 10, 1});
  CHECK(job.state().best_trial() == 2);
  CHECK(job.state().leading_trial() == 1);  // what is worth training on
  job.Record(Reported{1, 1, 1, 10, 1});
  CHECK(job.state().best_trial() == 1);
  job.Record(Reported{1, 1, 2, 11, 1});
  CHECK(job.state().best_trial() == 2);
}

TEST_CASE("Constraints: MEDIAN waits for the objective of a level", "[scheduler]") {
  SearchSpec spec = WithConstraint(RandomJob(3, 2));
  spec.pruner.kind = PrunerKind::kMedian;
  spec.pruner.warm_up_trials = 1;
  for (const ObjectiveValue counts : {ObjectiveValue::kBest, ObjectiveValue::kLast, ObjectiveValue::kMean}) {
    spec.objective_value = counts;
    PlayedJob job(spec);
    const TrialNumber first = job.Start();
    Report(job, first, 1, 5, 5);
    Finish(job, first, 5, 5);
    REQUIRE(job.StartAll() == 2);
    job.Record(Reported{2, 1, 1, 5, 1});  // the memory alone
    CHECK_FALSE(job.trial(2).ended());
    job.Record(Reported{2, 1, 1, 6, 0});
    CHECK_FALSE(job.trial(2).ended());
    Report(job, 3, 1, 4, 5);
    CHECK(job.trial(3).phase == TrialPhase::kPruned);
    CHECK(job.trial(3).reason.find("score so far, 4, is worse than 5") != std::string::npos);
  }
}

TEST_CASE("Constraints: a rung takes the feasible first, then the least violation", "[scheduler]") {
  SearchSpec spec = WithConstraint(HyperbandJob(9, 3, 9));
  spec.pruner.kind = PrunerKind::kSuccessiveHalving;
  PlayedJob job(spec);
  REQUIRE(job.StartAll() == 9);
  for (TrialNumber n = 1; n <= 9; ++n) {
    // Trials 1 and 2 are feasible; of the others the later ones gain more and violate more.
    if (n > 2) job.Record(Reported{n, 1, 1, 10 + static_cast<double>(n), 1});
    job.Finish(n, static_cast<double>(n));
  }
  const auto& cut = job.Newest<RungCut>();
  CHECK(cut.ranking == std::vector<TrialNumber>{2, 1, 3, 4, 5, 6, 7, 8, 9});
  CHECK(cut.promoted == 3);
  CHECK(cut.cutoff == 3);  // of the last that goes on
  CHECK(cut.reference.empty());
  CHECK(job.trial(9).reason ==
        "Successive halving: bracket 1 (s = 2), rung 1 at resource 1: rank 9 of 9 with score = 9 (violates "
        "metric_constraints: memory = 19, expected at most 10); the best 3 go on.");
}

TEST_CASE("Constraints: the target needs a trial that is known to satisfy them", "[scheduler]") {
  SearchSpec spec = WithConstraint(RandomJob(3, 2));
  spec.completion.target_objective = 4;
  PlayedJob job(spec);
  REQUIRE(job.StartAll() == 3);
  job.Report(1, 1, 5);  // its memory is not known yet
  CHECK_FALSE(job.state().completion_met());
  job.Record(Reported{2, 1, 2, 12, 1});
  job.Finish(2, 7);
  CHECK_FALSE(job.state().completion_met());
  job.Record(Reported{1, 1, 2, 9, 1});
  job.Finish(1, 1);  // its best is still 5
  REQUIRE(job.state().completion_met());
  CHECK_THAT(job.state().completion_met()->reason, Catch::Contains("trial 1"));
}

TEST_CASE("Constraints: NaN violates without end, and does not fail the trial", "[scheduler]") {
  PlayedJob job(WithConstraint(RandomJob(1, 2)));
  job.Start();
  job.Record(Reported{1, 1, 2, kNaN, 1});
  CHECK_FALSE(job.trial(1).ended());
  job.Finish(1, 1);
  CHECK(job.trial(1).phase == TrialPhase::kCompleted);
  CHECK(std::isinf(job.trial(1).violation));
  CHECK_FALSE(job.state().best_trial());
}

TEST_CASE("Completion: the hypervolume reaches its target, or improves no more", "[scheduler]") {
  SearchSpec spec = WithTwo(RandomJob(9, 2));
  spec.objectives[0].threshold = 0;
  spec.objectives[1].threshold = 10;
  SECTION("target") {
    spec.completion.target_hypervolume = 6;
    PlayedJob job(spec);
    Finish(job, job.Start(), 1, 5);
    CHECK_FALSE(job.state().completion_met());
    Finish(job, job.Start(), 2, 9);
    REQUIRE(job.state().completion_met());
    CHECK(job.state().completion_met()->reason ==
          "The target is reached: the Pareto front of 2 trials has the hypervolume 6; target_hypervolume is "
          "6.");
  }
  SECTION("no improvement") {
    spec.completion.no_improvement_trials = 2;
    PlayedJob job(spec);
    Finish(job, job.Start(), 1, 11);  // behind the threshold: no hypervolume yet
    Finish(job, job.Start(), 1, 11);
    Finish(job, job.Start(), 1, 5);
    Finish(job, job.Start(), 1, 6);
    CHECK_FALSE(job.state().completion_met());
    Finish(job, job.Start(), 0.5, 7);
    REQUIRE(job.state().completion_met());
    CHECK(job.state().completion_met()->reason ==
          "No improvement: the last 2 trials that ended did not improve on the hypervolume 5 by more than 1 "
          "%.");
  }
}

TEST_CASE("Objectives: what has no sense is refused by its name", "[scheduler]") {
  const SearchSpec good = WithTwo(RandomJob(9, 2));
  CHECK(Errors(good).empty());
  SearchSpec spec = good;
  spec.objectives.pop_back();
  CHECK_THAT(Errors(spec), Catch::Contains("objectives has 1 entry; expected 2 to 4"));
  spec = good;
  spec.objectives[1].metric = "gain";
  CHECK_THAT(Errors(spec), Catch::Contains("objectives[1].metric \"gain\" is given twice"));
  spec = good;
  spec.objectives[1].threshold = kNaN;
  CHECK_THAT(Errors(spec), Catch::Contains("objectives[1].threshold is nan; expected a finite number"));
  spec = good;
  spec.pruner.kind = PrunerKind::kLearningCurve;
  spec.pruner.min_chance = 0.1;
  CHECK_THAT(Errors(spec),
             Catch::Contains("pruner.min_chance LEARNING_CURVE extrapolates the curve of one objective"));
  spec = good;
  spec.completion.target_objective = 1;
  spec.completion.convergence_tolerance = 0.1;
  spec.completion.target_hypervolume = 1;
  spec.completion.no_improvement_trials = 3;
  CHECK_THAT(
      Errors(spec),
      Catch::Contains("completion.target_objective") && Catch::Contains("completion.convergence_tolerance") &&
          Catch::Contains("completion.target_hypervolume is about the hypervolume; expected a threshold") &&
          Catch::Contains("completion.no_improvement_trials"));
  spec = RandomJob(9, 2);
  spec.completion.target_hypervolume = 1;
  CHECK_THAT(Errors(spec),
             Catch::Contains("completion.target_hypervolume is given; expected it with objectives"));
  spec = RandomJob(9, 2);
  spec.metric_constraints.push_back({.metric = "memory"});
  CHECK_THAT(Errors(spec),
             Catch::Contains("metric_constraints[0] has no bound; expected at_most or at_least"));
  spec.metric_constraints[0].at_most = kNaN;
  CHECK(Errors(spec) == "metric_constraints[0].at_most is NaN; expected a finite number\n");
  spec.metric_constraints[0].at_most = 1;
  spec.metric_constraints[0].at_least = 0;
  CHECK_THAT(Errors(spec), Catch::Contains("metric_constraints[0] has two bounds"));
  spec.metric_constraints = {{.metric = "memory", .at_most = 3}, {.metric = "memory", .at_least = 5}};
  CHECK(Errors(spec) ==
        "metric_constraints[1] with metric_constraints[0] says that memory is at least 5 and at most 3; "
        "expected bounds "
        "that a value can meet\n");
  spec.metric_constraints[1].at_least = 3;
  CHECK(Errors(spec).empty());
}

}  // namespace
}  // namespace winnow
