#include "scheduler/state/front_summary.h"

#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

// "gain" up, "size" down, to level 2; "memory" at most 10.
SearchSpec FrontJob() {
  SearchSpec spec = RandomJob(6, 2);
  spec.objectives = {{"gain", Goal::kMaximize, 0.0}, {"size", Goal::kMinimize, 10.0}};
  spec.objective_metric = "gain";
  spec.objective_value = ObjectiveValue::kLast;
  spec.metric_constraints.push_back({.metric = "memory", .at_most = 10});
  return spec;
}

void Complete(PlayedJob& job, double gain, double size, double memory) {
  const TrialNumber number = job.Start();
  for (const auto& [metric, value] : {std::pair(2, memory), std::pair(1, size), std::pair(0, gain)})
    job.Record(Reported{number, 1, 2, value, metric});
  job.End(number, AttemptOutcome::kFinished);
}

TEST_CASE("Front summary: the front with its hypervolume and how it grew", "[scheduler]") {
  PlayedJob job(FrontJob());
  Complete(job, 2, 8, 1);   // 2 * 2
  Complete(job, 1, 9, 1);   // dominated by the first
  Complete(job, 9, 1, 11);  // would dominate all, but takes too much memory
  Complete(job, 1, 4, 10);  // adds 1 * 4
  Complete(job, 3, 11, 1);  // behind the reference point: on the front without a volume
  const FrontSummary summary = SummaryOf(job.state(), 10);
  CHECK(summary.reference == std::vector<double>{0, 10});
  REQUIRE(summary.members.size() == 3);
  CHECK(summary.members[0].number == 5);
  CHECK(summary.members[0].values == std::vector<double>{3, 11});
  CHECK(summary.members[0].own_hypervolume == 0);
  CHECK(summary.members[1].number == 1);
  CHECK(summary.members[1].own_hypervolume == 2);
  CHECK(summary.members[2].number == 4);
  CHECK(summary.members[2].own_hypervolume == 4);
  CHECK(summary.hypervolume == 8);
  CHECK(summary.infeasible == 1);
  REQUIRE(summary.history.size() == 2);
  CHECK(summary.history[0].trial == 1);
  CHECK(summary.history[0].hypervolume == 4);
  CHECK(summary.history[0].resource == 2);
  CHECK(summary.history[1].trial == 4);
  CHECK(summary.history[1].hypervolume == 8);
  CHECK(summary.history[1].resource == 8);
}

TEST_CASE("Front summary: a long history keeps its first and its last step", "[scheduler]") {
  SearchSpec spec = FrontJob();
  spec.limits.max_trials = 9;
  PlayedJob job(spec);
  for (int i = 1; i <= 9; ++i) Complete(job, i, 9, 1);
  const FrontSummary summary = SummaryOf(job.state(), 3);
  REQUIRE(summary.history.size() == 3);
  CHECK(summary.history[0].trial == 1);
  CHECK(summary.history[2].trial == 9);
  CHECK(summary.history[2].hypervolume == summary.hypervolume);
}

TEST_CASE("Front summary: without a feasible trial there is no reference point", "[scheduler]") {
  PlayedJob job(FrontJob());
  Complete(job, 2, 8, 99);
  const FrontSummary summary = SummaryOf(job.state(), 10);
  CHECK(summary.reference.empty());
  CHECK(summary.members.empty());
  CHECK(summary.infeasible == 1);
}

}  // namespace
}  // namespace winnow
