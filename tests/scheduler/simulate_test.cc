#include "scheduler/simulate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "scheduler/decide.h"
#include "scheduler/plan.h"
#include "scheduler/pruners/pruner.h"
#include "scheduler/replay.h"
#include "scheduler/samplers/random.h"
#include "scheduler/suggest.h"
#include "scheduler/validate.h"
#include "tests/catch.h"
#include "tests/scheduler/checked_job.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

TEST_CASE("Simulation: 8000 jobs of every shape end, within budgets, and never idle", "[scheduler]") {
  int64_t outcomes[3] = {};
  int64_t cuts = 0, drained = 0, weak = 0;
  std::map<PrunerKind, int64_t> stopped;
  std::map<ObjectiveValue, int64_t> counted;
  std::map<std::pair<SamplerKind, PrunerKind>, int64_t> strategies;
  for (uint64_t number = 0; number < 8000; ++number) {
    CAPTURE(number);
    const int slots[] = {1, 4, 64};
    const SimulationResult result = PlayAndCheck(DrawJob(number, slots[number % 3]));
    const SearchSpec& spec = result.state.spec();
    ++outcomes[static_cast<int>(result.state.ended()->end)];
    for (const BracketState& bracket : result.state.brackets()) {
      cuts += bracket.rungs[0].cut ? 1 : 0;
      weak += bracket.ended ? 1 : 0;
    }
    ++strategies[{spec.sampler.kind, spec.pruner.kind}];
    stopped[spec.pruner.kind] += result.state.totals().pruned;
    ++counted[spec.objective_value];
    drained += result.state.ended()->reason.find("max_total_resource") != std::string::npos ? 1 : 0;
  }
  // The draw reaches every strategy and every kind of end.
  int64_t without_model = 0;
  for (SamplerKind sampler : kSamplers) {
    for (PrunerKind pruner : kPruners)
      without_model += AsksModel({sampler, pruner}) || !GoTogether({sampler, pruner}) ? 0 : 1;
  }
  CHECK(static_cast<int64_t>(strategies.size()) == without_model);
  for (const auto& [strategy, jobs] : strategies) CHECK(jobs >= 100);
  CHECK(outcomes[0] > 2000);
  CHECK(outcomes[1] > 100);
  CHECK(outcomes[2] > 20);
  CHECK(cuts > 2000);
  CHECK(drained > 200);
  CHECK(weak > 20);
  CHECK(stopped[PrunerKind::kAsha] > 2000);
  CHECK(stopped[PrunerKind::kMedian] > 200);
  CHECK(stopped[PrunerKind::kLearningCurve] > 200);
  for (const ObjectiveValue each : {ObjectiveValue::kBest, ObjectiveValue::kLast, ObjectiveValue::kMean})
    CHECK(counted[each] > 1000);
}

TEST_CASE("Simulation: jobs of every strategy with a model end, within budgets, and never idle",
          "[scheduler]") {
  constexpr uint64_t kJobs = 60;  // of each
  for (SamplerKind sampler : kSamplers) {
    for (PrunerKind pruner : kPruners) {
      if (!AsksModel({sampler, pruner}) || !GoTogether({sampler, pruner})) continue;
      int64_t answers = 0;
      for (uint64_t job = 0; job <= kJobs; ++job) {
        // The curves of the last one predict ends whose covariance rounding leaves far from definite.
        const uint64_t number = job < kJobs ? job : 500'078;
        CAPTURE(static_cast<int>(sampler), static_cast<int>(pruner), number);
        const int slots[] = {1, 4, 64};
        const SimulationResult result =
            PlayAndCheck(DrawJob(number, slots[number % 3], Strategy{sampler, pruner}));
        for (const Fact& fact : result.facts) answers += std::holds_alternative<Suggested>(fact.body) ? 1 : 0;
      }
      CHECK(answers > static_cast<int64_t>(kJobs));
    }
  }
}

TEST_CASE("Simulation: a loaded job equals the live one after every prefix of its record", "[scheduler]") {
  std::vector<AnyJob> jobs;
  for (uint64_t number = 0; number < 48; ++number) jobs.push_back(DrawJob(number, 4));
  for (PrunerKind pruner : kPruners) {
    for (SamplerKind sampler : kSamplers) {
      if (AsksModel({sampler, pruner}) && GoTogether({sampler, pruner}))
        jobs.push_back(DrawJob(jobs.size(), 4, Strategy{sampler, pruner}));
    }
  }
  for (const AnyJob& job : jobs) {
    CAPTURE(job.spec.seed);
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

TEST_CASE("Simulation: state that differs in one fact is not equal", "[scheduler]") {
  const AnyJob job = DrawJob(3, 4);
  const std::vector<Fact> facts = Simulate(job.spec, job.simulation).facts;
  JobState shorter(job.spec), whole(job.spec);
  for (size_t i = 0; i < facts.size(); ++i) {
    whole.Apply(facts[i]);
    if (i + 1 < facts.size()) shorter.Apply(facts[i]);
    if (i + 1 < facts.size()) REQUIRE(shorter == whole);
  }
  CHECK_FALSE(shorter == whole);
}

TEST_CASE("Simulation: Hyperband trains exactly what its plan says", "[scheduler]") {
  for (int slots : {1, 4, 64}) {
    for (bool resumes : {true, false}) {
      SearchSpec spec = HyperbandJob(81, 3);
      spec.resumes = resumes;
      const SimulationResult result = Simulate(spec, Slots(slots));
      CHECK(result.state.ended()->end == JobEnd::kCompleted);
      CHECK(result.state.trials().size() == 143);
      CHECK(result.state.totals().resource == (resumes ? 1581 : 1902));
    }
  }
}

TEST_CASE("Simulation: RANDOM tries the same configurations at any parallelism", "[scheduler]") {
  const SearchSpec spec = RandomJob(40, 5);
  const SimulationResult one = Simulate(spec, Slots(1));
  for (int slots : {4, 64}) {
    Simulation simulation = Slots(slots);
    simulation.loss_rate = 0.3;
    const SimulationResult many = Simulate(spec, simulation);
    REQUIRE(many.state.trials().size() == 40);
    for (TrialNumber n = 1; n <= 40; ++n) {
      CHECK(Identical(one.state.trial(n).configuration, many.state.trial(n).configuration));
      CHECK(Identical(one.state.trial(n).configuration,
                      RandomConfiguration(spec, SearchSpace(spec.parameters), n)));
    }
  }
}

TEST_CASE("Simulation: Hyperband samples the same configurations at any parallelism", "[scheduler]") {
  const SearchSpec spec = HyperbandJob(27, 3);
  const SimulationResult one = Simulate(spec, Slots(1)), many = Simulate(spec, Slots(16));
  REQUIRE(one.state.trials().size() == many.state.trials().size());
  for (const TrialState& trial : one.state.trials()) {
    CHECK(Identical(trial.configuration, many.state.trial(trial.number).configuration));
    CHECK(trial.bracket == many.state.trial(trial.number).bracket);
    CHECK(trial.rung == many.state.trial(trial.number).rung);
  }
}

TEST_CASE("Replay: finds the first decision that was tampered with", "[scheduler]") {
  const SearchSpec spec = HyperbandJob(9, 3);
  const std::vector<Fact> facts = Simulate(spec, Slots(3)).facts;
  REQUIRE(Verify(spec, facts).ok());
  int tampered = 0;
  for (size_t i = 0; i < facts.size(); ++i) {
    std::vector<Fact> wrong = facts;
    if (auto* cut = std::get_if<RungCut>(&wrong[i].body)) {
      std::swap(cut->ranking.front(), cut->ranking.back());
    } else if (auto* created = std::get_if<TrialCreated>(&wrong[i].body)) {
      created->configuration[0] = 0.123;
    } else if (auto* ended = std::get_if<TrialEnded>(&wrong[i].body)) {
      ended->reason += "!";
    } else {
      continue;
    }
    CHECK(Verify(spec, wrong).sequence == facts[i].sequence);
    const bool words_alone = std::holds_alternative<TrialEnded>(wrong[i].body);
    CHECK(Verify(spec, wrong, Wording::kIgnored).ok() == words_alone);
    ++tampered;
  }
  CHECK(tampered > 30);
  std::vector<Fact> shorter = facts;
  shorter.pop_back();
  CHECK(Verify(spec, shorter).recorded == "the end of the record");
}

}  // namespace
}  // namespace winnow
