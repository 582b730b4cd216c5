#include "tests/scheduler/checked_job.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "scheduler/decide.h"
#include "scheduler/pruners/pruner.h"
#include "scheduler/replay.h"
#include "scheduler/state/standing.h"
#include "scheduler/validate.h"
#include "tests/catch.h"

namespace winnow {
namespace {

// What must hold after every entry of the record.
void CheckBudgets(const JobState& state) {
  const Limits& limits = state.spec().limits;
  const JobTotals& totals = state.totals();
  if (limits.max_total_resource > 0) {
    REQUIRE(totals.resource + totals.reserved_resource <= limits.max_total_resource);
  }
  // Those that run go on when the limit is lowered.
  if (limits.max_parallel_trials > 0 && !state.limits_changed())
    REQUIRE(totals.live_attempts <= limits.max_parallel_trials);
  if (limits.max_trials > 0) REQUIRE(static_cast<int64_t>(state.trials().size()) <= limits.max_trials);
  REQUIRE(totals.reserved_resource >= 0);
  REQUIRE(totals.pending + totals.running + totals.paused + totals.completed + totals.pruned + totals.failed +
              totals.cancelled ==
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

// The front, looked for among all.
void CheckFront(const JobState& state) {
  REQUIRE_FALSE(state.best_trial());
  std::vector<Standing> all;
  for (const TrialState& trial : state.trials()) {
    Standing standing = FinalStanding(state.spec(), trial);
    if (TakesPart(trial, standing)) all.push_back(std::move(standing));
  }
  std::vector<Standing> front;
  for (const Standing& one : all) {
    const bool dominated = std::any_of(
        all.begin(), all.end(), [&one](const Standing& other) { return Dominates(other.keys, one.keys); });
    if (!dominated) front.push_back(one);
  }
  REQUIRE(state.front() == front);
}

// The best trial, looked for among all.
void CheckBest(const JobState& state) {
  const double sign = state.spec().goal == Goal::kMaximize ? 1 : -1;
  if (state.spec().has_several_objectives()) {
    if (state.last_sequence() % 4 == 0 || state.ended()) CheckFront(state);
    return;
  }
  std::optional<TrialNumber> best;
  std::pair<bool, double> best_place;
  for (const TrialState& trial : state.trials()) {
    if (trial.phase == TrialPhase::kFailed || trial.value_resource == 0) continue;
    CheckValue(trial, state.spec().objective_value, sign);
    if (trial.violation > 0) continue;
    const bool behind =
        (state.spec().objective_value != ObjectiveValue::kBest && trial.phase != TrialPhase::kCompleted) ||
        !KnowsConstraints(state.spec(), trial);
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
  if (state.closing() || state.paused() || limits.max_total_resource > 0) return;
  if (limits.max_parallel_trials > 0 && state.totals().live_attempts >= limits.max_parallel_trials) return;
  REQUIRE(state.pending().empty());
  const bool table_used_up = HasBracketTable(state.spec().pruner.kind) &&
                             static_cast<int64_t>(state.trials().size()) >= state.table().trial_count();
  REQUIRE((table_used_up || !state.may_create()));
  REQUIRE_FALSE(PrunerOf(state.spec()).Promote(state));
}

// Every configuration is a point of the space as it was then, and none of a finite space is tried twice.
void CheckConfigurations(const SearchSpec& spec, const std::vector<Fact>& facts) {
  JobState state(spec);
  for (const Fact& fact : facts) {
    if (const auto* created = std::get_if<TrialCreated>(&fact.body)) {
      REQUIRE(state.space().Holds(created->configuration));
      // What goes on from another trial's checkpoint may have had its hyperparameters before.
      const bool anew = spec.pruner.kind != PrunerKind::kPbt || created->trial <= state.table().trial_count();
      if (state.space().size() > 0 && anew) {
        for (const TrialState& other : state.trials()) REQUIRE(other.configuration != created->configuration);
      }
    }
    state.Apply(fact);
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
      if (!rung.is_open()) REQUIRE(static_cast<int64_t>(rung.entered.size()) <= bracket.plan.rungs[i].trials);
      REQUIRE(rung.arrived == static_cast<int64_t>(rung.entered.size()));
      if (!rung.cut) continue;
      if (state.spec().pruner.kind == PrunerKind::kPbt) continue;
      REQUIRE(static_cast<int64_t>(rung.entered.size()) == bracket.width(static_cast<int64_t>(i)));
      const auto went_on = static_cast<int64_t>(bracket.rungs[i + 1].entered.size());
      REQUIRE((went_on == rung.promoted || (bracket.ended && went_on == 0) || state.closing()));
    }
  }
}

// How many of the front's, feasible and other trials come before: less is better. Fronts by their definition.
std::vector<int> ClassesOf(const std::vector<Standing>& standings) {
  std::vector<int> classes(standings.size(), -1);
  const auto counts = [&](size_t i) { return standings[i].finite() && standings[i].feasible(); };
  int front = 0;
  for (bool any = true; any; ++front) {
    any = false;
    std::vector<size_t> members;
    for (size_t i = 0; i < standings.size(); ++i) {
      if (!counts(i) || classes[i] >= 0) continue;
      bool dominated = false;
      for (size_t j = 0; j < standings.size(); ++j) {
        dominated =
            dominated || (counts(j) && classes[j] < 0 && Dominates(standings[j].keys, standings[i].keys));
      }
      if (!dominated) members.push_back(i);
    }
    for (const size_t i : members) classes[i] = front;
    any = !members.empty();
  }
  for (size_t i = 0; i < standings.size(); ++i) {
    if (classes[i] < 0) classes[i] = standings[i].finite() ? front : front + 1;
  }
  return classes;
}

// The cuts and promotions of jobs whose trials are ranked by their standings: feasible before infeasible,
// front by front, infeasible ones by violation.
void CheckStandingCuts(const SearchSpec& spec, const SimulationResult& result) {
  JobState state(spec);
  for (const Fact& fact : result.facts) {
    if (const auto* cut = std::get_if<RungCut>(&fact.body)) {
      std::vector<Standing> standings;
      for (TrialNumber number : cut->ranking) {
        if (!state.trial(number).ended() && !state.trial(number).beside)
          standings.push_back(StandingAt(spec, state.trial(number), cut->resource));
      }
      const std::vector<int> classes = ClassesOf(standings);
      REQUIRE(std::is_sorted(classes.begin(), classes.end()));
      for (size_t i = 1; i < standings.size(); ++i) {
        if (classes[i] != classes[i - 1] || !standings[i].finite() || standings[i].feasible()) continue;
        REQUIRE(standings[i - 1].violation <= standings[i].violation);
      }
      const auto eligible = std::count_if(standings.begin(), standings.end(),
                                          [](const Standing& standing) { return standing.finite(); });
      const int64_t places = state.brackets()[cut->bracket].plan.rungs[cut->rung + 1].trials;
      REQUIRE(cut->promoted == std::min<int64_t>(places, eligible));
      REQUIRE(cut->reference.empty() == (!spec.has_several_objectives() || classes.empty() ||
                                         classes[0] > 0 || !standings[0].feasible() ||
                                         !standings[0].finite()));
    }
    const auto* resumed = std::get_if<TrialResumed>(&fact.body);
    const bool promotes =
        spec.pruner.kind == PrunerKind::kAsha && spec.pruner.asha_form == AshaForm::kPromotion;
    if (promotes && resumed != nullptr && resumed->rung > state.trial(resumed->trial).rung) {
      const TrialState& trial = state.trial(resumed->trial);
      const RungState& rung = state.brackets()[trial.bracket].rungs[trial.rung];
      REQUIRE(rung.Rank(trial.number) < rung.places());
      REQUIRE(StandingAt(spec, trial, rung.resource).finite());
    }
    state.Apply(fact);
  }
}

// Population based training: of every generation the worst are replaced, each by a trial that goes on from
// the checkpoint of one of the best, which is not trained on before that was taken.
void CheckGenerations(const SearchSpec& spec, const SimulationResult& result) {
  JobState state(spec);
  const int64_t population = spec.pruner.bracket_trials,
                share = population / spec.pruner.rungs.reduction_factor;
  std::set<TrialNumber> best;
  for (const Fact& fact : result.facts) {
    if (const auto* cut = std::get_if<RungCut>(&fact.body)) {
      int64_t finite = 0;
      for (const TrialNumber number : cut->ranking) {
        const TrialState& trial = state.trial(number);
        finite += !trial.ended() && !trial.beside && StandingAt(spec, trial, cut->resource).finite() ? 1 : 0;
      }
      REQUIRE(cut->promoted <= finite);
      REQUIRE(cut->promoted >= finite - share);
      if (finite > 1 && spec.limits.max_trials == 0) REQUIRE(cut->promoted < finite);
      best.clear();
      for (int64_t i = 0; i < std::min(share, cut->promoted); ++i) best.insert(cut->ranking[i]);
      for (int64_t i = 1; i < cut->promoted && !spec.ranks_by_standing(); ++i) {
        const double sign = spec.goal == Goal::kMaximize ? 1 : -1;
        const auto value = [&](int64_t place) {
          return sign * *state.trial(cut->ranking[place]).counted_at(cut->resource, spec.objective_value);
        };
        REQUIRE(value(i - 1) >= value(i));
      }
    }
    const auto* created = std::get_if<TrialCreated>(&fact.body);
    if (created != nullptr && created->trial > population) {
      REQUIRE(created->origin > 0);
      REQUIRE(best.count(created->origin) == 1);
    } else if (created != nullptr) {
      REQUIRE(created->origin == 0);
    }
    if (const auto* started = std::get_if<AttemptStarted>(&fact.body))
      REQUIRE(state.trial(started->trial).to_be_taken == 0);
    state.Apply(fact);
  }
  for (const TrialState& trial : result.state.trials()) {
    REQUIRE(trial.to_be_taken == 0);
    if (trial.origin > 0) REQUIRE(trial.root == result.state.trial(trial.origin).root);
  }
}

// Every cut of the record against the rule, computed anew.
void CheckCuts(const SearchSpec& spec, const SimulationResult& result) {
  if (spec.pruner.kind == PrunerKind::kPbt) return CheckGenerations(spec, result);
  if (spec.ranks_by_standing()) return CheckStandingCuts(spec, result);
  JobState state(spec);
  const ObjectiveValue counts = state.spec().objective_value;
  const double sign = state.spec().goal == Goal::kMaximize ? 1 : -1;
  for (const Fact& fact : result.facts) {
    if (const auto* cut = std::get_if<RungCut>(&fact.body)) {
      const BracketState& bracket = state.brackets()[cut->bracket];
      int64_t eligible = 0;
      for (TrialNumber number : cut->ranking) {
        const auto value = state.trial(number).counted_at(cut->resource, counts);
        eligible +=
            !state.trial(number).ended() && !state.trial(number).beside && value && std::isfinite(*value) ? 1
                                                                                                          : 0;
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
        if (trial.ended() || trial.beside || !std::isfinite(value)) continue;
        REQUIRE_FALSE(sign * value > sign * cut->cutoff);
      }
    }
    state.Apply(fact);
  }
}

// ASHA's rule for every trial that went on or stopped, computed anew from all that had arrived at its rung by
// then.
void CheckAsha(const SearchSpec& spec, const SimulationResult& result) {
  if (spec.ranks_by_standing()) return;
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
    if (ended != nullptr && ended->end == TrialEnd::kCompleted && !state.trial(ended->trial).beside)
      arrive(ended->trial);
    // What failed counts as worst wherever it had arrived.
    if (ended != nullptr && ended->end == TrialEnd::kFailed &&
        !state.FailedByMachines(state.trial(ended->trial))) {
      for (auto& [where, values] : arrived) {
        for (auto& [key, number] : values) key = number == ended->trial ? INFINITY : key;
      }
    }
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

// MEDIAN's rule for every trial that it stopped, computed anew from what all had reported by then.
void CheckMedian(const SearchSpec& spec, const SimulationResult& result) {
  if (spec.pruner.kind != PrunerKind::kMedian || spec.has_several_objectives()) return;
  JobState state(spec);
  const double sign = spec.goal == Goal::kMaximize ? -1 : 1;
  Reported newest;
  for (const Fact& fact : result.facts) {
    if (const auto* report = std::get_if<Reported>(&fact.body)) newest = *report;
    const auto* ended = std::get_if<TrialEnded>(&fact.body);
    if (ended != nullptr && ended->reason.find("Median rule: ") == 0) {
      REQUIRE(newest.trial == ended->trial);
      const TrialState& trial = state.trial(ended->trial);
      const bool best = spec.objective_value == ObjectiveValue::kBest;
      const auto own =
          best ? trial.best_objective : trial.counted_at(newest.resource, spec.objective_value).value_or(NAN);
      REQUIRE((!best || trial.best_resource > 0));
      std::vector<double> averages;
      for (const TrialState& other : state.trials()) {
        double sum = 0, count = 0;
        for (const auto& [level, value] : other.curve) {
          if (level <= newest.resource) sum += sign * value, ++count;
        }
        if (other.phase == TrialPhase::kCompleted && count > 0)
          averages.push_back(std::isfinite(sum) ? sum / count : INFINITY);
      }
      REQUIRE_FALSE(averages.empty());
      std::sort(averages.begin(), averages.end());
      const size_t middle = averages.size() / 2;
      const double median = (averages[(averages.size() - 1) / 2] + averages[middle]) / 2;
      REQUIRE(sign * own > median - 1e-9);
    }
    state.Apply(fact);
  }
}

}  // namespace

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
  CheckCuts(job.spec, result);
  CheckAsha(job.spec, result);
  CheckMedian(job.spec, result);
  CheckConfigurations(job.spec, result.facts);
  const Mismatch mismatch = Verify(job.spec, result.facts);
  INFO(mismatch.sequence << ": " << mismatch.recorded << " instead of " << mismatch.expected);
  REQUIRE(mismatch.ok());
  JobState loaded(job.spec);
  for (const Fact& fact : result.facts) loaded.Apply(fact);
  REQUIRE(loaded == result.state);
  return result;
}

}  // namespace winnow
