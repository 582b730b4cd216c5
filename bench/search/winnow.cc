// Plays Winnow's strategies on a family in the simulator and prints what bench/search/report.py reads: lines
// strategy,family,seed,spent,regret, one whenever the incumbent's regret changes, and one at the end
// (bench/search/trajectory.py says how all are measured).
//
//   bench-search --strategy default --family branin --seeds 1..30 [--multiple 64] [--table CSV] [--workers 1]
//                [--startup 10] [--stragglers 0.1] [--timed] [--restarts] [--diverged] [--prior right|wrong]
//                [--confidence low|medium|high]
//                [--earlier rows:TABLE] [--earlier-results 50] [--earlier-wrong]
//
// The budget is --multiple times the family's max_resource. --table: the CSV of the family named table.
// "default" is what a job runs where strategy is left out.
//
// --repeats, with a family "repeated:NAME": each training is a unit, and what is printed is the regret of
// what the job hands out at its end. 1: each configuration is trained once, each with a seed of its own.
// More: the job has so many repeats; its strategy must be one without a pruner.
//
// --handed-out: prints strategy,family,seed and the true regrets of what the job hands out at its end under
// objective.selection SEEN and EXPECTED, then how much more than the truth the value seen promises of the
// first, and the expected value. Whole curves, or with --repeats trainings as there.
//
// --startup: units that every part of a trial costs before its first (imports, data). What was spent is then
// time: units trained and parts started; a part that would end beyond the budget counts up to the budget.
//
// --stragglers: the part of the trials that take ten times as long as others, which differ by up to a half.
// What was spent is then the time of all workers together, in units, and time ends the job.
//
// --timed: a unit takes as long as the table says of the configuration (recorded_table.h), beside the median.
// What was spent is then time, which alone limits the job.
//
// --restarts: the trainer cannot resume, so every part begins at level 1, and what it trains again is spent
// again.
//
// --diverged: prints strategy,family,seed,units,after: all units, and those that were trained in trials after
// their first value that was no finite number.
//
// --choices: prints each choice of a search model with its reason, the value with which each part ended, and
// the true one at the end of the trial's curve.
//
// --prior: every parameter has a prior. A right one is the optimum's coordinate on the unit interval, moved
// by a normal number of deviation 0.1 that depends on the seed; a wrong one is the end of the range opposite
// to the optimum. Of a category, right is the optimum's own and wrong is another one.
//
// --earlier: the job starts with the final values of so many random configurations on this family, which has
// the same hyperparameters; with --earlier-wrong with minus these values, so that the worst looks best.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <string>

#include "bench/search/families.h"
#include "bench/search/job_of.h"
#include "bench/search/strategies.h"
#include "scheduler/expected_values.h"
#include "scheduler/simulate.h"
#include "scheduler/space/random.h"

namespace winnow {
namespace {

// A second of start-up must not change the search (scheduler/state/startup.h), so a unit takes many.
constexpr double kUnitSeconds = 1000;

SearchSpec SpecOf(const Family& family, const Pair& strategy, uint64_t seed, double multiple,
                  bool ends_by_time) {
  SearchSpec spec = JobOf(family, strategy, seed);
  // The search does not plan for time: it ends the job.
  if (!ends_by_time) spec.limits.max_total_resource = static_cast<int64_t>(multiple * family.max_resource());
  return spec;
}

// How far a right prior is off, on the unit interval.
constexpr double kPriorError = 0.1;

void AddPriors(SearchSpec& spec, const Family& family, bool right, Confidence confidence) {
  const SearchSpace space(spec.parameters);
  std::vector<double> unit = family.optimizer();
  for (size_t i = 0; i < unit.size(); ++i) {
    const auto* categories = std::get_if<CategoricalRange>(&spec.parameters[i].range);
    const auto uniform = [&](uint64_t k) {
      return RandomUnit(spec.seed, 0, Purpose::kSimulation, 2 * i + k);
    };
    if (categories != nullptr) {
      const auto count = static_cast<double>(categories->values.size());
      if (!right) unit[i] = std::fmod(unit[i] + 1 / count, 1.0);
    } else if (right) {
      const double normal =
          std::sqrt(-2 * std::log(1 - uniform(0))) * std::cos(2 * std::numbers::pi * uniform(1));
      unit[i] = std::clamp(unit[i] + kPriorError * normal, 0.0, 1.0);
    } else {
      unit[i] = unit[i] < 0.5 ? 1 : 0;
    }
  }
  const Configuration values = space.FromUnit(unit);
  for (size_t i = 0; i < values.size(); ++i) spec.parameters[i].prior = Prior{values[i], confidence};
}

struct PlayedPrior {
  bool given = false, right = false;
  Confidence confidence = Confidence::kMedium;
};

// Another family as an earlier job, or none.
struct PlayedEarlier {
  const Family* family = nullptr;
  int results = 0;
  bool wrong = false;
};

std::vector<EarlierResult> ResultsOf(const PlayedEarlier& earlier, const SearchSpec& spec,
                                     const SearchSpace& space) {
  std::vector<EarlierResult> results;
  for (int i = 0; earlier.family != nullptr && i < earlier.results; ++i) {
    std::vector<double> unit;
    for (size_t j = 0; j < spec.parameters.size(); ++j) {
      const uint64_t draw = 1000 + static_cast<uint64_t>(i) * spec.parameters.size() + j;
      unit.push_back(RandomUnit(spec.seed, 0, Purpose::kSimulation, draw));
    }
    Configuration configuration = space.FromUnit(unit);
    const double value = earlier.family->WholeCurve(space.ToUnit(configuration), spec.seed).observed.back();
    results.push_back({std::move(configuration), earlier.wrong ? -value : value, 0,
                       "job earlier, trial " + std::to_string(i + 1)});
  }
  return results;
}

// How a job is played beyond its strategy.
struct Played {
  double multiple = 64;
  int workers = 1;
  double startup = 0;
  double stragglers = -1;  // below 0: what was spent is units
  bool timed = false;      // units take as long as the family says
  bool restarts = false;
  bool diverged = false, choices = false;
  PlayedPrior prior;
  PlayedEarlier earlier;

  bool ends_by_time() const { return startup > 0 || is_spent_in_time(); }
  bool is_spent_in_time() const { return timed || stragglers >= 0; }
};

void SetTimes(const Played& played, double budget, uint64_t seed, Simulation& simulation) {
  simulation.unit_seconds = kUnitSeconds;
  simulation.start_seconds = played.startup * kUnitSeconds;
  simulation.end_seconds = simulation.stop_seconds = 0;
  simulation.wall_time_seconds = budget * kUnitSeconds / played.workers;
  simulation.seed = seed;
  if (played.stragglers < 0) {
    simulation.jitter = 0;
  } else {
    simulation.slow_trials = played.stragglers;
  }
}

// All units, and those that trials trained after their first value that was no finite number.
void PrintDiverged(const std::string& name, const std::string& label, uint64_t seed,
                   const SimulationResult& result) {
  int64_t all = 0, after = 0;
  std::set<TrialNumber> diverged;
  for (const Fact& fact : result.facts) {
    const auto* report = std::get_if<Reported>(&fact.body);
    if (report == nullptr) continue;
    ++all;
    after += diverged.count(report->trial) > 0 ? 1 : 0;
    if (!std::isfinite(report->objective)) diverged.insert(report->trial);
  }
  std::printf("%s,%s,%llu,%lld,%lld\n", name.c_str(), label.c_str(), static_cast<unsigned long long>(seed),
              static_cast<long long>(all), static_cast<long long>(after));
}

// Every choice of the search model with its sentence, and what each part of a trial ended with; `end_of`
// gives what a trial would reach at the end of its curve.
template <typename End>
void PrintChoices(const SimulationResult& result, const End& end_of) {
  double newest = 0;
  for (const Fact& fact : result.facts) {
    if (const auto* report = std::get_if<Reported>(&fact.body)) newest = report->objective;
    if (const auto* ended = std::get_if<AttemptEnded>(&fact.body))
      std::printf("%lld trial %lld: %.6g, at its end %.6g\n", static_cast<long long>(fact.sequence),
                  static_cast<long long>(ended->trial), newest,
                  end_of(result.state.trial(ended->trial).configuration));
    if (const auto* suggested = std::get_if<Suggested>(&fact.body))
      std::printf("%lld rule %lld, trial %lld to %lld: %s\n", static_cast<long long>(fact.sequence),
                  static_cast<long long>(suggested->rule), static_cast<long long>(suggested->trial),
                  static_cast<long long>(suggested->to), suggested->why.c_str());
  }
}

void Play(const std::string& name, const std::string& label, const Family& family, uint64_t seed,
          const Played& played) {
  SearchSpec spec = SpecOf(family, kStrategies.at(name), seed, played.multiple, played.ends_by_time());
  spec.resumes = !played.restarts;
  if (played.prior.given) AddPriors(spec, family, played.prior.right, played.prior.confidence);
  const SearchSpace space(spec.parameters);
  std::map<Configuration, Family::Curve> curves;
  const auto curve_of = [&](const Configuration& configuration) -> const Family::Curve& {
    auto found = curves.find(configuration);
    if (found == curves.end()) {
      found = curves.emplace(configuration, family.WholeCurve(space.ToUnit(configuration), seed)).first;
    }
    return found->second;
  };
  Simulation simulation;
  simulation.workers = played.workers;
  simulation.earlier = ResultsOf(played.earlier, spec, space);
  simulation.objective = [&](const Configuration& configuration, int64_t level) {
    return curve_of(configuration).observed[static_cast<size_t>(level) - 1];
  };
  const double budget = played.multiple * family.max_resource();
  if (played.ends_by_time()) SetTimes(played, budget, seed, simulation);
  if (played.timed) {
    spec.limits.max_wall_time_us = static_cast<int64_t>(simulation.wall_time_seconds * 1e6);
    simulation.slowness = [&](const Configuration& configuration) {
      return family.Slowness(space.ToUnit(configuration));
    };
  }
  const SimulationResult result = Simulate(spec, simulation);
  if (played.choices) {
    return PrintChoices(
        result, [&](const Configuration& configuration) { return curve_of(configuration).values.back(); });
  }
  if (played.diverged) return PrintDiverged(name, label, seed, result);

  double spent = 0, printed = 0;
  double best = -std::numeric_limits<double>::infinity(), regret = best;
  const auto print = [&] {
    printed = spent;
    std::printf("%s,%s,%llu,%.17g,%.17g\n", name.c_str(), label.c_str(),
                static_cast<unsigned long long>(seed), spent, regret);
  };
  for (const Fact& fact : result.facts) {
    if (std::holds_alternative<AttemptStarted>(fact.body)) spent = std::min(budget, spent + played.startup);
    const auto* report = std::get_if<Reported>(&fact.body);
    if (report == nullptr || spent + 1 > budget) continue;
    ++spent;
    if (played.is_spent_in_time())
      spent = static_cast<double>(fact.time_us) * 1e-6 / kUnitSeconds * played.workers;
    if (!(report->objective > best)) continue;
    best = report->objective;
    const Family::Curve& curve = curve_of(result.state.trial(report->trial).configuration);
    const double now = family.optimum() - curve.values[static_cast<size_t>(report->resource) - 1];
    if (now == regret) continue;
    regret = now;
    print();
  }
  if (played.ends_by_time()) spent = budget;
  if (printed < spent) print();
}

// The regrets of the trials that a job hands out under selection SEEN and EXPECTED, and how far what is said
// of the first is from its true value: the value seen, and the expected one.
template <typename Truth>
void PrintHandedOut(const std::string& name, const std::string& label, uint64_t seed, double optimum,
                    const JobState& state, const Truth& truth) {
  const auto seen = state.best_trial();
  if (!seen) return;
  const ExpectedValues values(state);
  const std::optional<ExpectedResult> best = values.Best(), of_seen = values.Of(*seen);
  const auto true_value = [&](TrialNumber trial) { return truth(state.trial(trial).configuration); };
  const double value = state.trial(*seen).value, worth = true_value(*seen);
  std::printf("%s,%s,%llu,%.17g,%.17g,%.17g,%.17g\n", name.c_str(), label.c_str(),
              static_cast<unsigned long long>(seed), optimum - worth,
              optimum - true_value(best ? best->trial : *seen), value - worth,
              (of_seen ? of_seen->value : value) - worth);
}

// The regret of the mean of the trial that the job hands out.
void PlayRepeats(const std::string& name, const std::string& label, const Family& family, uint64_t seed,
                 double multiple, int64_t repeats, bool handed_out) {
  Pair strategy = kStrategies.at(name);
  if (repeats > 1) strategy = WithRepeats(strategy);
  SearchSpec spec = SpecOf(family, strategy, seed, multiple, false);
  spec.limits.max_trial_resource = repeats;
  if (repeats > 1) {
    spec.repeats = repeats;
    spec.objective_value = ObjectiveValue::kMean;
    spec.pruner.min_chance = kPairedTestChance;
  }
  const SearchSpace space(spec.parameters);
  std::map<Configuration, uint64_t> seeds;
  Simulation simulation;
  simulation.objective = [&](const Configuration& configuration, int64_t level) {
    const uint64_t own = repeats > 1 ? 0 : seeds.try_emplace(configuration, seeds.size()).first->second;
    constexpr uint64_t kMostTrials = 1 << 20;
    return family.Observed(space.ToUnit(configuration), static_cast<int>(level), seed * kMostTrials + own);
  };
  const SimulationResult result = Simulate(spec, simulation);
  if (handed_out) {
    return PrintHandedOut(
        name, label, seed, family.optimum(), result.state,
        [&](const Configuration& configuration) { return family.Value(space.ToUnit(configuration), 1); });
  }
  const auto best = result.state.best_trial();
  if (!best) return;
  const double value = family.Value(space.ToUnit(result.state.trial(*best).configuration), 1);
  std::printf("%s,%s,%llu,%lld,%.17g\n", name.c_str(), label.c_str(), static_cast<unsigned long long>(seed),
              static_cast<long long>(result.state.totals().resource), family.optimum() - value);
}

// Plays one job without repeats over whole curves.
void PlayHandedOut(const std::string& name, const std::string& label, const Family& family, uint64_t seed,
                   double multiple) {
  const SearchSpec spec = SpecOf(family, kStrategies.at(name), seed, multiple, false);
  const SearchSpace space(spec.parameters);
  std::map<Configuration, Family::Curve> curves;
  Simulation simulation;
  simulation.objective = [&](const Configuration& configuration, int64_t level) {
    auto found = curves.find(configuration);
    if (found == curves.end())
      found = curves.emplace(configuration, family.WholeCurve(space.ToUnit(configuration), seed)).first;
    return found->second.observed[static_cast<size_t>(level) - 1];
  };
  PrintHandedOut(name, label, seed, family.optimum(), Simulate(spec, simulation).state,
                 [&](const Configuration& configuration) { return curves.at(configuration).values.back(); });
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  CLI::App app("Plays Winnow's strategies on a family of learning curves.");
  std::string strategy = "default", family, table, seeds = "1..1";
  winnow::Played played;
  double& multiple = played.multiple;
  int64_t repeats = 0;
  std::string prior, confidence = "medium";
  std::string earlier_family;
  int earlier_results = 50;
  bool earlier_wrong = false;
  bool list = false, handed_out = false;
  app.add_option("--strategy", strategy)->check(CLI::IsMember(winnow::kStrategies));
  app.add_option("--family", family, "a closed-form family, or table");
  app.add_option("--table", table, "the CSV of the family named table")->check(CLI::ExistingFile);
  app.add_option("--seeds", seeds, "A..B, both included");
  app.add_option("--multiple", multiple)->check(CLI::PositiveNumber);
  app.add_option("--startup", played.startup, "units that every part costs before its first")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--stragglers", played.stragglers,
                 "the part of the trials that are slow; what is spent is time")
      ->check(CLI::Range(0.0, 1.0));
  app.add_flag("--timed", played.timed, "units take as long as the table says; what is spent is time");
  app.add_flag("--restarts", played.restarts, "every part begins at level 1");
  app.add_flag("--diverged", played.diverged, "print the units after a first value that is no finite number");
  app.add_flag("--choices", played.choices, "print why the search model chose what it chose");
  app.add_option("--workers", played.workers)->check(CLI::PositiveNumber);
  app.add_option("--repeats", repeats, "of each training; 0: levels are levels")->check(CLI::Range(0, 5));
  app.add_option("--prior", prior)->check(CLI::IsMember({"right", "wrong"}));
  app.add_option("--confidence", confidence)->check(CLI::IsMember({"low", "medium", "high"}));
  app.add_option("--earlier", earlier_family, "a family whose results the job starts with");
  app.add_option("--earlier-results", earlier_results)->check(CLI::PositiveNumber);
  app.add_flag("--earlier-wrong", earlier_wrong);
  app.add_flag("--handed-out", handed_out, "print the regrets of what SEEN and EXPECTED hand out");
  app.add_flag("--list", list, "print the strategies instead");
  CLI11_PARSE(app, argc, argv);
  if (list) {
    for (const auto& [name, pair] : winnow::kStrategies) std::printf("%s\n", name.c_str());
    return 0;
  }
  unsigned long long first = 0, last = 0;
  if (std::sscanf(seeds.c_str(), "%llu..%llu", &first, &last) != 2 || first > last) {
    std::fprintf(stderr, "--seeds %s: expected A..B with A <= B\n", seeds.c_str());
    return 2;
  }
  auto functions = winnow::MakeFamily(family == "table" ? "table:" + table : family);
  if (!functions.ok()) {
    std::fprintf(stderr, "--family %s: %s\n", family.c_str(),
                 std::string(functions.status().message()).c_str());
    return 2;
  }
  played.prior = {!prior.empty(), prior == "right",
                  confidence == "low"    ? winnow::Confidence::kLow
                  : confidence == "high" ? winnow::Confidence::kHigh
                                         : winnow::Confidence::kMedium};
  played.earlier = {nullptr, earlier_results, earlier_wrong};
  auto known = winnow::MakeFamily(earlier_family.empty() ? "branin" : earlier_family);
  if (!known.ok()) {
    std::fprintf(stderr, "--earlier %s: %s\n", earlier_family.c_str(),
                 std::string(known.status().message()).c_str());
    return 2;
  }
  if (!earlier_family.empty()) played.earlier.family = known->get();
  for (unsigned long long seed = first; seed <= last; ++seed) {
    if (repeats > 0) {
      winnow::PlayRepeats(strategy, family, **functions, seed, multiple, repeats, handed_out);
    } else if (handed_out) {
      winnow::PlayHandedOut(strategy, family, **functions, seed, multiple);
    } else {
      winnow::Play(strategy, family, **functions, seed, played);
    }
  }
  return 0;
}
