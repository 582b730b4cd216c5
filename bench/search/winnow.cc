// Plays Winnow's strategies on a family in the simulator and prints what bench/search/report.py reads: lines
// strategy,family,seed,spent,regret, one whenever the incumbent's regret changes, and one at the end
// (bench/search/trajectory.py says how all are measured).
//
//   bench-search --strategy default --family branin --seeds 1..30 [--multiple 64] [--table CSV] [--workers 1]
//                [--startup 10] [--prior right|wrong] [--confidence low|medium|high]
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
#include <string>

#include "bench/search/families.h"
#include "bench/search/strategies.h"
#include "scheduler/expected_values.h"
#include "scheduler/simulate.h"
#include "scheduler/space/random.h"

namespace winnow {
namespace {

// A second of start-up must not change the search (scheduler/state/startup.h), so a unit takes many.
constexpr double kUnitSeconds = 1000;

Parameter ToParameter(const FamilyParameter& from) {
  const Scaling scaling = from.log ? Scaling::kLog : Scaling::kLinear;
  switch (from.kind) {
    case FamilyKind::kInteger:
      return {from.name,
              IntegerRange{static_cast<int64_t>(from.min), static_cast<int64_t>(from.max), scaling}};
    case FamilyKind::kContinuous:
      return {from.name, ContinuousRange{from.min, from.max, scaling}};
    case FamilyKind::kCategorical:
      break;
  }
  CategoricalRange range;
  for (int value = 0; value <= static_cast<int>(from.max); ++value)
    range.values.push_back(std::to_string(value));
  return {from.name, std::move(range)};
}

SearchSpec SpecOf(const Family& family, const Pair& strategy, uint64_t seed, double multiple,
                  double startup) {
  SearchSpec spec;
  for (const FamilyParameter& parameter : family.parameters())
    spec.parameters.push_back(ToParameter(parameter));
  spec.objective_metric = "value";
  spec.sampler.kind = strategy.sampler;
  spec.pruner.kind = strategy.pruner;
  spec.pruner.rungs.max_resource = family.max_resource();
  spec.limits.max_trial_resource = HasRungs(strategy.pruner) ? 0 : family.max_resource();
  // The search does not plan for start-up time: it is added, and time ends the job.
  if (startup == 0) spec.limits.max_total_resource = static_cast<int64_t>(multiple * family.max_resource());
  spec.seed = seed;
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

void Play(const std::string& name, const std::string& label, const Family& family, uint64_t seed,
          double multiple, int workers, double startup, const PlayedPrior& prior,
          const PlayedEarlier& earlier) {
  SearchSpec spec = SpecOf(family, kStrategies.at(name), seed, multiple, startup);
  if (prior.given) AddPriors(spec, family, prior.right, prior.confidence);
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
  simulation.workers = workers;
  simulation.earlier = ResultsOf(earlier, spec, space);
  simulation.objective = [&](const Configuration& configuration, int64_t level) {
    return curve_of(configuration).observed[static_cast<size_t>(level) - 1];
  };
  const double budget = multiple * family.max_resource();
  if (startup > 0) {
    simulation.unit_seconds = kUnitSeconds;
    simulation.jitter = 0;
    simulation.start_seconds = startup * kUnitSeconds;
    simulation.end_seconds = simulation.stop_seconds = 0;
    simulation.wall_time_seconds = budget * kUnitSeconds / workers;
  }
  const SimulationResult result = Simulate(spec, simulation);

  double spent = 0, printed = 0;
  double best = -std::numeric_limits<double>::infinity(), regret = best;
  const auto print = [&] {
    printed = spent;
    std::printf("%s,%s,%llu,%.17g,%.17g\n", name.c_str(), label.c_str(),
                static_cast<unsigned long long>(seed), spent, regret);
  };
  for (const Fact& fact : result.facts) {
    if (std::holds_alternative<AttemptStarted>(fact.body)) spent = std::min(budget, spent + startup);
    const auto* report = std::get_if<Reported>(&fact.body);
    if (report == nullptr || spent + 1 > budget) continue;
    ++spent;
    if (!(report->objective > best)) continue;
    best = report->objective;
    const Family::Curve& curve = curve_of(result.state.trial(report->trial).configuration);
    const double now = family.optimum() - curve.values[static_cast<size_t>(report->resource) - 1];
    if (now == regret) continue;
    regret = now;
    print();
  }
  if (startup > 0) spent = budget;
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
  SearchSpec spec = SpecOf(family, strategy, seed, multiple, 0);
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
  const SearchSpec spec = SpecOf(family, kStrategies.at(name), seed, multiple, 0);
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
  double multiple = 64, startup = 0;
  int workers = 1;
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
  app.add_option("--startup", startup, "units that every part costs before its first")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--workers", workers)->check(CLI::PositiveNumber);
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
  const winnow::PlayedPrior played{!prior.empty(), prior == "right",
                                   confidence == "low"    ? winnow::Confidence::kLow
                                   : confidence == "high" ? winnow::Confidence::kHigh
                                                          : winnow::Confidence::kMedium};
  winnow::PlayedEarlier earlier{nullptr, earlier_results, earlier_wrong};
  auto known = winnow::MakeFamily(earlier_family.empty() ? "branin" : earlier_family);
  if (!known.ok()) {
    std::fprintf(stderr, "--earlier %s: %s\n", earlier_family.c_str(),
                 std::string(known.status().message()).c_str());
    return 2;
  }
  if (!earlier_family.empty()) earlier.family = known->get();
  for (unsigned long long seed = first; seed <= last; ++seed) {
    if (repeats > 0) {
      winnow::PlayRepeats(strategy, family, **functions, seed, multiple, repeats, handed_out);
    } else if (handed_out) {
      winnow::PlayHandedOut(strategy, family, **functions, seed, multiple);
    } else {
      winnow::Play(strategy, family, **functions, seed, multiple, workers, startup, played, earlier);
    }
  }
  return 0;
}
