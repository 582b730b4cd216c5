#include <map>

#include "scheduler/state/standing.h"
#include "tests/catch.h"
#include "tests/scheduler/checked_job.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

TEST_CASE("Simulation: jobs with several objectives and constraints end, within budgets, and never idle",
          "[scheduler]") {
  int64_t cuts = 0, stopped = 0, infeasible = 0, completed = 0, with_front = 0;
  std::map<PrunerKind, int64_t> pruners;
  std::map<size_t, int64_t> objectives;
  for (uint64_t number = 0; number < 2'000; ++number) {
    CAPTURE(number);
    const int slots[] = {1, 4, 64};
    const SimulationResult result = PlayAndCheck(DrawFrontJob(number, slots[number % 3]));
    const JobState& state = result.state;
    ++pruners[state.spec().pruner.kind];
    ++objectives[state.spec().objective_count()];
    with_front += state.front().size() > 1 ? 1 : 0;
    stopped += state.totals().pruned;
    completed += state.completion_met() && !state.completion_met()->nothing_left ? 1 : 0;
    for (const TrialState& trial : state.trials()) infeasible += trial.violation > 0 ? 1 : 0;
    for (const BracketState& bracket : state.brackets()) cuts += bracket.rungs[0].cut ? 1 : 0;
  }
  // The draw reaches every pruner, every number of objectives and every kind of trial.
  CHECK(pruners.size() == 6);
  for (const auto& [pruner, jobs] : pruners) CHECK(jobs > 100);
  for (const size_t count : {1, 2, 3, 4}) CHECK(objectives[count] > 100);
  CHECK(cuts > 100);
  CHECK(stopped > 1'000);
  CHECK(infeasible > 1'000);
  CHECK(completed > 10);
  CHECK(with_front > 200);
}

TEST_CASE("Simulation: jobs with several objectives and a model end, within budgets, and never idle",
          "[scheduler]") {
  constexpr uint64_t kJobs = 6;  // of each
  for (SamplerKind sampler : kSamplers) {
    for (PrunerKind pruner : kPruners) {
      if (!AsksModel({sampler, pruner}) || !GoTogether({sampler, pruner}) ||
          pruner == PrunerKind::kLearningCurve || pruner == PrunerKind::kPairedTest) {
        continue;
      }
      int64_t answers = 0;
      for (uint64_t number = 0; number < kJobs; ++number) {
        CAPTURE(static_cast<int>(sampler), static_cast<int>(pruner), number);
        const int slots[] = {1, 4, 64};
        const SimulationResult result =
            PlayAndCheck(DrawFrontJob(number, slots[number % 3], Strategy{sampler, pruner}));
        for (const Fact& fact : result.facts) answers += std::holds_alternative<Suggested>(fact.body) ? 1 : 0;
      }
      CHECK(answers > static_cast<int64_t>(kJobs));
    }
  }
}

TEST_CASE("Simulation: a loaded job with several objectives equals the live one after every prefix",
          "[scheduler]") {
  for (uint64_t number = 0; number < 40; ++number) {
    const AnyJob job = DrawFrontJob(number, 4);
    CAPTURE(number);
    const std::vector<Fact> facts = Simulate(job.spec, job.simulation).facts;
    JobState live(job.spec);
    for (size_t length = 0; length < std::min<size_t>(facts.size(), 250); ++length) {
      live.Apply(facts[length]);
      JobState loaded(job.spec);
      for (size_t i = 0; i <= length; ++i) loaded.Apply(facts[i]);
      REQUIRE(loaded == live);
    }
  }
}

}  // namespace
}  // namespace winnow
