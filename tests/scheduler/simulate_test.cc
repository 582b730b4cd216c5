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
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

// What must hold after every entry of the record.
void CheckBudgets(const JobState& state) {
  const Limits& limits = state.spec().limits;
  const JobTotals& totals = state.totals();
  if (limits.max_total_resource > 0) {
    REQUIRE(totals.resource + totals.reserved_resource <= limits.max_total_resource);
  }
  if (limits.max_parallel_trials > 0) REQUIRE(totals.live_attempts <= limits.max_parallel_trials);
  if (limits.max_trials > 0) REQUIRE(static_cast<int64_t>(state.trials().size()) <= limits.max_trials);
  REQUIRE(totals.reserved_resource >= 0);
  REQUIRE(totals.pending + totals.running + totals.paused + totals.completed + totals.pruned +
              totals.failed + totals.cancelled ==
          static_cast<int64_t>(state.trials().size()));
  REQUIRE(totals.pending == static_cast<int64_t>(state.pending().size()));
}

// What a trial counts, from its curve alone.
void CheckValue(const TrialState& trial, ObjectiveValue counts, double sign) {
  double best = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const auto& [level, value] : trial.curve) {
    if (std::isfinite(value)) best = std::max(best, sign * value);
    sum += value;
  }
  // A sum in the order of the levels, so that it is the same to the bit.
  const double expected = counts == ObjectiveValue::kBest   ? sign * best
                          : counts == ObjectiveValue::kLast ? trial.curve.back().second
                                                            : sum / static_cast<double>(trial.curve.size());
  REQUIRE(trial.value == expected);
}

// The best trial, looked for among all.
void CheckBest(const JobState& state) {
  const double sign = state.spec().goal == Goal::kMaximize ? 1 : -1;
  std::optional<TrialNumber> best;
  std::pair<bool, double> best_place;
  for (const TrialState& trial : state.trials()) {
    if (trial.phase == TrialPhase::kFailed || trial.value_resource == 0) continue;
    CheckValue(trial, state.spec().objective_value, sign);
    const bool behind =
        state.spec().objective_value != ObjectiveValue::kBest && trial.phase != TrialPhase::kCompleted;
    const auto place = std::make_pair(behind, -sign * trial.value);
    if (!best || place < best_place) {
      best = trial.number;
      best_place = place;
    }
  }
  REQUIRE(state.best_trial() == best);
}

// A free slot has nothing to do only if nothing waits or may go on, and no further trial may be created.
void CheckIdle(const JobState& state) {
  const Limits& limits = state.spec().limits;
  if (state.closing() || limits.max_total_resource > 0) return;
  if (limits.max_parallel_trials > 0 && state.totals().live_attempts == limits.max_parallel_trials) return;
  REQUIRE(state.pending().empty());
  const bool table_used_up = HasBracketTable(state.spec().pruner.kind) &&
                             static_cast<int64_t>(state.trials().size()) == state.table().trial_count();
  REQUIRE((table_used_up || !state.may_create()));
  REQUIRE_FALSE(PrunerOf(state.spec()).Promote(state));
}

// Every configuration is a point of the space, and none of a finite space is tried twice.
void CheckConfigurations(const JobState& state) {
  std::set<Configuration> tried;
  for (const TrialState& trial : state.trials()) {
    REQUIRE(state.space().Holds(trial.configuration));
    if (state.space().size() > 0) REQUIRE(tried.insert(trial.configuration).second);
  }
}

// What must hold of the record of an ended job.
void CheckEnded(const SimulationResult& result) {
  const JobState& state = result.state;
  REQUIRE_FALSE(result.stalled);
  REQUIRE(state.ended());
  REQUIRE(state.totals().live_attempts == 0);
  REQUIRE(state.totals().reserved_resource == 0);
  int64_t trained = 0;
  for (const TrialState& trial : state.trials()) {
    REQUIRE(trial.ended());
    REQUIRE_FALSE((trial.phase != TrialPhase::kCompleted && trial.reason.empty()));
    trained += trial.trained_resource;
  }
  REQUIRE(trained == state.totals().resource);
  for (const BracketState& bracket : state.brackets()) {
    for (size_t i = 0; i < bracket.rungs.size(); ++i) {
      const RungState& rung = bracket.rungs[i];
      if (!rung.top) REQUIRE(static_cast<int64_t>(rung.entered.size()) <= bracket.plan.rungs[i].trials);
      REQUIRE(rung.arrived == static_cast<int64_t>(rung.entered.size()));
      if (!rung.cut) continue;
      REQUIRE(static_cast<int64_t>(rung.entered.size()) == bracket.width(static_cast<int64_t>(i)));
      const auto went_on = static_cast<int64_t>(bracket.rungs[i + 1].entered.size());
      REQUIRE((went_on == rung.promoted || (bracket.ended && went_on == 0) || state.closing()));
    }
  }
}

// Every cut of the record against the rule, computed anew.
void CheckCuts(const SimulationResult& result) {
  JobState state(result.state.spec());
  const ObjectiveValue counts = state.spec().objective_value;
  const double sign = state.spec().goal == Goal::kMaximize ? 1 : -1;
  for (const Fact& fact : result.facts) {
    if (const auto* cut = std::get_if<RungCut>(&fact.body)) {
      const BracketState& bracket = state.brackets()[cut->bracket];
      int64_t eligible = 0;
      for (TrialNumber number : cut->ranking) {
        const auto value = state.trial(number).counted_at(cut->resource, counts);
        eligible += !state.trial(number).ended() && value && std::isfinite(*value) ? 1 : 0;
      }
      REQUIRE(cut->promoted == std::min(bracket.plan.rungs[cut->rung + 1].trials, eligible));
      for (int64_t i = 0; i < cut->promoted; ++i) {
        const TrialState& trial = state.trial(cut->ranking[i]);
        REQUIRE_FALSE(trial.ended());
        REQUIRE(sign * *trial.counted_at(cut->resource, counts) >= sign * cut->cutoff);
      }
      for (size_t i = cut->promoted; i < cut->ranking.size(); ++i) {
        const TrialState& trial = state.trial(cut->ranking[i]);
        const double value = trial.counted_at(cut->resource, counts).value_or(NAN);
        if (trial.ended() || !std::isfinite(value)) continue;
        REQUIRE_FALSE(sign * value > sign * cut->cutoff);
      }
    }
    state.Apply(fact);
  }
}

// ASHA's rule for every trial that went on or stopped, computed anew from all that had arrived at its rung by
// then.
void CheckAsha(const SimulationResult& result) {
  const SearchSpec& spec = result.state.spec();
  if (spec.pruner.kind != PrunerKind::kAsha || spec.pruner.asha_form != AshaForm::kPromotion) return;
  JobState state(spec);
  const double sign = spec.goal == Goal::kMaximize ? 1 : -1;
  std::map<std::pair<int64_t, int64_t>, std::vector<std::pair<double, TrialNumber>>>
      arrived;  // by bracket and rung
  for (const Fact& fact : result.facts) {
    const auto arrive = [&](TrialNumber number) {
      const TrialState& trial = state.trial(number);
      const int64_t level = state.brackets()[trial.bracket].rungs[trial.rung].resource;
      const double value = trial.counted_at(level, spec.objective_value).value_or(NAN);
      arrived[{trial.bracket, trial.rung}].emplace_back(std::isfinite(value) ? -sign * value : INFINITY,
                                                        number);
    };
    if (const auto* paused = std::get_if<TrialPaused>(&fact.body)) arrive(paused->trial);
    const auto* ended = std::get_if<TrialEnded>(&fact.body);
    if (ended != nullptr && ended->end == TrialEnd::kCompleted) arrive(ended->trial);
    const auto* resumed = std::get_if<TrialResumed>(&fact.body);
    if (resumed != nullptr && resumed->rung > state.trial(resumed->trial).rung) {
      const TrialState& trial = state.trial(resumed->trial);
      auto rung = arrived[{trial.bracket, trial.rung}];
      std::sort(rung.begin(), rung.end());
      const size_t places = rung.size() / static_cast<size_t>(spec.pruner.rungs.reduction_factor);
      const auto place =
          std::find_if(rung.begin(), rung.end(), [&](const auto& r) { return r.second == trial.number; });
      REQUIRE(static_cast<size_t>(place - rung.begin()) < places);
      REQUIRE(std::isfinite(place->first));
    }
    state.Apply(fact);
  }
}

// Plays the job, and checks all that must hold of any.
SimulationResult PlayAndCheck(AnyJob job) {
  for (const Violation& violation : ValidateSearch(job.spec))
    FAIL(violation.field + " " + violation.description);
  job.simulation.on_settled = [](const JobState& state) {
    CheckBudgets(state);
    CheckBest(state);
  };
  job.simulation.on_idle = CheckIdle;
  SimulationResult result = Simulate(job.spec, job.simulation);
  CheckEnded(result);
  CheckCuts(result);
  CheckAsha(result);
  CheckConfigurations(result.state);
  const Mismatch mismatch = Verify(job.spec, result.facts);
  INFO(mismatch.sequence << ": " << mismatch.recorded << " instead of " << mismatch.expected);
  REQUIRE(mismatch.ok());
  JobState loaded(job.spec);
  for (const Fact& fact : result.facts) loaded.Apply(fact);
  REQUIRE(loaded == result.state);
  return result;
}

TEST_CASE("Simulation: 6000 jobs of every shape end, within budgets, and never idle", "[scheduler]") {
  int64_t outcomes[3] = {};
  int64_t cuts = 0, drained = 0, weak = 0;
  std::map<PrunerKind, int64_t> stopped;
  std::map<ObjectiveValue, int64_t> counted;
  std::map<std::pair<SamplerKind, PrunerKind>, int64_t> strategies;
  for (uint64_t number = 0; number < 6000; ++number) {
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
    for (PrunerKind pruner : kPruners) without_model += AsksModel({sampler, pruner}) ? 0 : 1;
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
      if (!AsksModel({sampler, pruner})) continue;
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
      if (AsksModel({sampler, pruner})) jobs.push_back(DrawJob(jobs.size(), 4, Strategy{sampler, pruner}));
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
