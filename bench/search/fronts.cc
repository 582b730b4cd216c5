// Plays strategies on problems with several objectives whose whole hypervolume is known, and prints the share
// of it that each has not found, the median over seeds:
//
//   bench-fronts [--problems zdt1,zdt2,branin_currin,dtlz2] [--strategies default,bayesian] [--seeds 5]
//                [--multiples 8,16,32,64] [--csv | --choices]
//   bench-fronts --serve PROBLEM [--multiples 8,16,32,64]
//
// A budget is a multiple of the units of one whole trial. Random search gets the same budget, and four times
// as much. Problems: front_problems.h. With --choices it prints instead, for each job, why the search chose
// what it chose, the share that was missing after each part, and what the trial would have at its end. With
// --serve the program trains for a peer (fronts_peers.py): it prints the levels, the number of objectives and
// the hyperparameters, answers each line "TRIAL LEVEL x0 x1 …" (a point of the unit cube) with the values at
// that level, and when the largest budget is used up with "end" and the missing share at each multiple.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "bench/search/front_problems.h"
#include "bench/search/strategies.h"
#include "scheduler/models/hypervolume.h"
#include "scheduler/simulate.h"
#include "scheduler/space/space.h"
#include "scheduler/state/front_summary.h"

namespace winnow {
namespace {

// A hyperparameter as the search has it; its values are mapped to the unit cube as the problem maps them.
Parameter ToParameter(const FamilyParameter& parameter) {
  if (parameter.kind == FamilyKind::kCategorical) {
    CategoricalRange range;
    for (int word = 0; word <= static_cast<int>(parameter.max); ++word)
      range.values.push_back(std::to_string(word));
    return {parameter.name, range};
  }
  const Scaling scaling = parameter.log ? Scaling::kLog : Scaling::kLinear;
  if (parameter.kind == FamilyKind::kInteger) {
    return {parameter.name,
            IntegerRange{static_cast<int64_t>(parameter.min), static_cast<int64_t>(parameter.max), scaling}};
  }
  return {parameter.name, ContinuousRange{parameter.min, parameter.max, scaling}};
}

// What was chosen and found, in the order of the job's facts.
template <typename Values>
void PrintChoices(const FrontProblem& problem, const SimulationResult& result, const Values& values) {
  std::map<TrialNumber, ObjectivePoint> newest;
  for (const Fact& fact : result.facts) {
    if (const auto* suggested = std::get_if<Suggested>(&fact.body))
      std::printf("%lld rule %lld, trial %lld to %lld: %s\n", static_cast<long long>(fact.sequence),
                  static_cast<long long>(suggested->rule), static_cast<long long>(suggested->trial),
                  static_cast<long long>(suggested->to), suggested->why.c_str());
    const auto* report = std::get_if<Reported>(&fact.body);
    if (report == nullptr) continue;
    const Configuration& configuration = result.state.trial(report->trial).configuration;
    newest[report->trial] = values(configuration, report->resource);
    std::vector<ObjectivePoint> points;
    for (const auto& [trial, point] : newest) points.push_back(point);
    std::printf("%lld trial %lld at %lld: missing %.4f; at its end", static_cast<long long>(fact.sequence),
                static_cast<long long>(report->trial), static_cast<long long>(report->resource),
                1 - Hypervolume(points, problem.reference) / problem.whole);
    for (const double value : values(configuration, problem.levels)) std::printf(" %.4g", value);
    std::printf("\n");
  }
}

// The missing share of the hypervolume after `multiple` whole trials' units.
double Missing(const FrontProblem& problem, const Pair& strategy, uint64_t seed, double multiple,
               bool choices) {
  SearchSpec spec;
  for (const FamilyParameter& parameter : problem.parameters)
    spec.parameters.push_back(ToParameter(parameter));
  for (size_t i = 0; i < problem.reference.size(); ++i)
    spec.objectives.push_back({"f" + std::to_string(i), Goal::kMinimize, problem.reference[i]});
  spec.objective_metric = "f0";
  spec.goal = Goal::kMinimize;
  spec.objective_value = ObjectiveValue::kLast;
  spec.sampler.kind = strategy.sampler;
  spec.pruner.kind = strategy.pruner;
  spec.pruner.stop_weak_brackets = false;
  spec.pruner.rungs.max_resource = problem.levels;
  spec.limits.max_trial_resource = HasRungs(strategy.pruner) ? 0 : problem.levels;
  spec.limits.max_total_resource = static_cast<int64_t>(multiple * problem.levels);
  spec.seed = seed;
  const SearchSpace space(spec.parameters);
  // A trial asks for each of its values by itself.
  std::map<std::pair<Configuration, int64_t>, std::vector<double>> known;
  const auto values = [&](const Configuration& configuration, int64_t level) -> const std::vector<double>& {
    std::vector<double>& found = known[{configuration, level}];
    if (found.empty()) found = problem.values(space.ToUnit(configuration), static_cast<int>(level));
    return found;
  };
  Simulation simulation;
  simulation.objective = [&](const Configuration& c, int64_t level) { return values(c, level)[0]; };
  simulation.further = [&](const Configuration& c, int64_t level, int64_t metric) -> std::optional<double> {
    return values(c, level)[static_cast<size_t>(metric)];
  };
  const SimulationResult result = Simulate(spec, simulation);
  if (choices) PrintChoices(problem, result, values);
  return 1 - SummaryOf(result.state, 2).hypervolume / problem.whole;
}

// Trains for a peer until the largest budget is used up.
void Serve(const FrontProblem& problem, const std::vector<double>& multiples) {
  std::printf("%d %zu\n", problem.levels, problem.reference.size());
  for (const FamilyParameter& parameter : problem.parameters) {
    std::printf("%s %s %g %g %d\n", parameter.name.c_str(),
                parameter.kind == FamilyKind::kInteger       ? "integer"
                : parameter.kind == FamilyKind::kCategorical ? "categorical"
                                                             : "continuous",
                parameter.min, parameter.max, parameter.log ? 1 : 0);
  }
  std::printf("\n");
  std::fflush(stdout);
  struct Trial {
    int level = 0;
    ObjectivePoint newest;
  };
  std::map<int64_t, Trial> trials;
  int64_t units = 0;
  size_t next = 0;  // of the multiples
  std::string missing;
  const auto share = [&] {
    std::vector<ObjectivePoint> points;
    for (const auto& [number, trial] : trials) {
      if (trial.level > 0) points.push_back(trial.newest);
    }
    return 1 - Hypervolume(points, problem.reference) / problem.whole;
  };
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    int64_t number = 0;
    int level = 0;
    std::vector<double> unit(problem.parameters.size());
    words >> number >> level;
    for (double& place : unit) words >> place;
    Trial& trial = trials[number];
    const int64_t after = units + level - trial.level;
    while (next < multiples.size() && static_cast<double>(after) > multiples[next] * problem.levels) {
      missing += " " + std::to_string(share());
      ++next;
    }
    if (next == multiples.size()) {
      std::printf("end%s\n", missing.c_str());
      std::fflush(stdout);
      return;
    }
    units = after;
    trial.level = level;
    trial.newest = problem.values(unit, level);
    for (const double value : trial.newest) std::printf("%.17g ", value);
    std::printf("\n");
    std::fflush(stdout);
  }
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  using namespace winnow;
  CLI::App app("Plays strategies on problems with several objectives.");
  std::vector<std::string> problems = ClosedFrontProblems(), strategies = {"default", "bayesian"};
  std::string served;
  std::vector<double> multiples = {8, 16, 32, 64};
  int seeds = 5;
  bool csv = false, choices = false;
  app.add_option("--problems", problems)->delimiter(',');
  app.add_option("--strategies", strategies)->delimiter(',')->check(CLI::IsMember(kStrategies));
  app.add_option("--multiples", multiples)->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--seeds", seeds)->check(CLI::Range(1, 1000));
  app.add_flag("--csv", csv, "a line for each seed: problem,strategy,multiple,seed,missing");
  app.add_flag("--choices", choices, "print why the search chose what it chose");
  app.add_option("--serve", served, "train for a peer on this problem");
  CLI11_PARSE(app, argc, argv);
  std::map<std::string, FrontProblem> made;
  if (!served.empty()) problems = {served};
  for (const std::string& name : problems) {
    absl::StatusOr<FrontProblem> problem = MakeFrontProblem(name);
    if (!problem.ok()) {
      std::fprintf(stderr, "%s\n", std::string(problem.status().message()).c_str());
      return 1;
    }
    made[name] = *std::move(problem);
  }
  std::sort(multiples.begin(), multiples.end());
  if (!served.empty()) {
    Serve(made[served], multiples);
    return 0;
  }
  if (!choices) strategies.insert(strategies.end(), {"random", "random 4x"});
  if (!csv && !choices) {
    std::printf("%-14s %8s", "problem", "multiple");
    for (const std::string& strategy : strategies) std::printf(" %10s", strategy.c_str());
    std::printf("\n");
  }
  for (const std::string& name : problems) {
    for (const double multiple : multiples) {
      if (!csv && !choices) std::printf("%-14s %8g", name.c_str(), multiple);
      for (const std::string& strategy : strategies) {
        const bool more = strategy == "random 4x";
        std::vector<double> missing;
        for (int seed = 1; seed <= seeds; ++seed) {
          missing.push_back(Missing(made.at(name), kStrategies.at(more ? "random" : strategy),
                                    static_cast<uint64_t>(seed), more ? 4 * multiple : multiple, choices));
          if (csv)
            std::printf("%s,%s,%g,%d,%.6f\n", name.c_str(), strategy.c_str(), multiple, seed, missing.back());
        }
        if (!csv && !choices) std::printf(" %10.4f", Median(missing));
        std::fflush(stdout);
      }
      if (!csv && !choices) std::printf("\n");
    }
  }
  return 0;
}
