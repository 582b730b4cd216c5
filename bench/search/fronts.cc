// Plays strategies on problems with two and three objectives whose Pareto fronts are known, and prints the
// share of the hypervolume that each has not found, the median over seeds:
//
//   bench-fronts [--problems zdt1,zdt2,branin_currin,dtlz2] [--strategies default,bayesian] [--seeds 5]
//                [--multiples 8,16,32,64] [--csv]
//
// A budget is a multiple of kLevels units, that of one whole trial. Random search gets the same budget, and
// four times as much. A trial's values approach those of the problem as it trains, by a power law whose size
// differs between configurations. Problems: ZDT1 and ZDT2 (Zitzler, Deb and Thiele 2000) over 6 variables,
// DTLZ2 (Deb et al. 2002) with three objectives over 5, and Branin with Currin (as in Daulton et al. 2020).

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "bench/search/strategies.h"
#include "scheduler/simulate.h"
#include "scheduler/state/front_summary.h"

namespace winnow {
namespace {

constexpr int64_t kLevels = 27;
constexpr double kPi = std::numbers::pi;

using Point = std::vector<double>;

struct Problem {
  size_t variables = 0;
  std::vector<double> reference;  // also how many objectives there are; all are minimised
  std::function<Point(const Point&)> values;
  double whole = 0;  // the hypervolume of the front
};

double Currin(double x, double y) {
  const double factor = y <= 0 ? 1 : 1 - std::exp(-1 / (2 * y));
  return factor * (2300 * x * x * x + 1900 * x * x + 2092 * x + 60) /
         (100 * x * x * x + 500 * x * x + 4 * x + 20);
}

double Branin(double x, double y) {
  const double a = 15 * x - 5, b = 15 * y;
  return std::pow(b - 5.1 / (4 * kPi * kPi) * a * a + 5 / kPi * a - 6, 2) +
         10 * (1 - 1 / (8 * kPi)) * std::cos(a) + 10;
}

Point Zdt(const Point& x, double power) {
  double g = 1;
  for (size_t i = 1; i < x.size(); ++i) g += 9 * x[i] / static_cast<double>(x.size() - 1);
  return {x[0], g * (1 - std::pow(x[0] / g, power))};
}

Point Dtlz2(const Point& x) {
  double g = 0;
  for (size_t i = 2; i < x.size(); ++i) g += std::pow(x[i] - 0.5, 2);
  const double a = x[0] * kPi / 2, b = x[1] * kPi / 2;
  return {(1 + g) * std::cos(a) * std::cos(b), (1 + g) * std::cos(a) * std::sin(b), (1 + g) * std::sin(a)};
}

// The hypervolume of the front of Branin and Currin, from a grid.
double WholeBraninCurrin(const std::vector<double>& reference) {
  constexpr int kSide = 1000;
  std::vector<Point> points;
  for (int i = 0; i <= kSide; ++i) {
    for (int j = 0; j <= kSide; ++j) {
      const double x = static_cast<double>(i) / kSide, y = static_cast<double>(j) / kSide;
      points.push_back({Branin(x, y), Currin(x, y)});
    }
  }
  std::sort(points.begin(), points.end());
  double area = 0, top = reference[1];
  for (const Point& point : points) {
    if (point[0] >= reference[0] || point[1] >= top) continue;
    area += (reference[0] - point[0]) * (top - point[1]);
    top = point[1];
  }
  return area;
}

const std::map<std::string, Problem>& Problems() {
  static const std::map<std::string, Problem> problems = [] {
    std::map<std::string, Problem> all;
    // The area above f2 = 1 - f1^power up to the reference.
    const auto zdt = [](double power) {
      const double right = 1.1, top = 4;
      return Problem{6,
                     {right, top},
                     [power](const Point& x) { return Zdt(x, power); },
                     right * top - (1 - 1 / (power + 1))};
    };
    all["zdt1"] = zdt(0.5);
    all["zdt2"] = zdt(2);
    all["dtlz2"] = {5, {1.5, 1.5, 1.5}, Dtlz2, std::pow(1.5, 3) - kPi / 6};
    Problem currin{2, {18, 6}, [](const Point& x) { return Point{Branin(x[0], x[1]), Currin(x[0], x[1])}; }};
    currin.whole = WholeBraninCurrin(currin.reference);
    all["branin_currin"] = currin;
    return all;
  }();
  return problems;
}

// The missing share of the hypervolume after `multiple` whole trials' units.
double Missing(const Problem& problem, const Pair& strategy, uint64_t seed, double multiple) {
  SearchSpec spec;
  for (size_t i = 0; i < problem.variables; ++i)
    spec.parameters.push_back({"x" + std::to_string(i), ContinuousRange{0, 1, Scaling::kLinear}});
  for (size_t i = 0; i < problem.reference.size(); ++i)
    spec.objectives.push_back({"f" + std::to_string(i), Goal::kMinimize, problem.reference[i]});
  spec.objective_metric = "f0";
  spec.goal = Goal::kMinimize;
  spec.objective_value = ObjectiveValue::kLast;
  spec.sampler.kind = strategy.sampler;
  spec.pruner.kind = strategy.pruner;
  spec.pruner.stop_weak_brackets = false;
  spec.pruner.rungs.max_resource = kLevels;
  spec.limits.max_trial_resource = HasRungs(strategy.pruner) ? 0 : kLevels;
  spec.limits.max_total_resource = static_cast<int64_t>(multiple * kLevels);
  spec.seed = seed;
  const auto value = [&problem](const Configuration& configuration, int64_t level, int64_t metric) {
    Point x;
    for (const Value& each : configuration) x.push_back(std::get<double>(each));
    const auto i = static_cast<size_t>(metric);
    const double size =
        0.3 * problem.reference[i] * (0.5 + std::abs(std::sin(7 * x[0] + 3 * x[1] + static_cast<double>(i))));
    const double left =
        std::pow(static_cast<double>(level), -0.7) - std::pow(static_cast<double>(kLevels), -0.7);
    return problem.values(x)[i] + size * left;
  };
  Simulation simulation;
  simulation.objective = [&](const Configuration& c, int64_t level) { return value(c, level, 0); };
  simulation.further = [&](const Configuration& c, int64_t level, int64_t metric) -> std::optional<double> {
    return value(c, level, metric);
  };
  const SimulationResult result = Simulate(spec, simulation);
  return 1 - SummaryOf(result.state, 2).hypervolume / problem.whole;
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
  std::vector<std::string> problems = {"zdt1", "zdt2", "branin_currin", "dtlz2"},
                           strategies = {"default", "bayesian"};
  std::vector<double> multiples = {8, 16, 32, 64};
  int seeds = 5;
  bool csv = false;
  app.add_option("--problems", problems)->delimiter(',')->check(CLI::IsMember(Problems()));
  app.add_option("--strategies", strategies)->delimiter(',')->check(CLI::IsMember(kStrategies));
  app.add_option("--multiples", multiples)->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--seeds", seeds)->check(CLI::Range(1, 1000));
  app.add_flag("--csv", csv, "a line for each seed: problem,strategy,multiple,seed,missing");
  CLI11_PARSE(app, argc, argv);
  strategies.insert(strategies.end(), {"random", "random 4x"});
  if (!csv) {
    std::printf("%-14s %8s", "problem", "multiple");
    for (const std::string& strategy : strategies) std::printf(" %10s", strategy.c_str());
    std::printf("\n");
  }
  for (const std::string& name : problems) {
    for (const double multiple : multiples) {
      if (!csv) std::printf("%-14s %8g", name.c_str(), multiple);
      for (const std::string& strategy : strategies) {
        const bool more = strategy == "random 4x";
        std::vector<double> missing;
        for (int seed = 1; seed <= seeds; ++seed) {
          missing.push_back(Missing(Problems().at(name), kStrategies.at(more ? "random" : strategy),
                                    static_cast<uint64_t>(seed), more ? 4 * multiple : multiple));
          if (csv)
            std::printf("%s,%s,%g,%d,%.6f\n", name.c_str(), strategy.c_str(), multiple, seed, missing.back());
        }
        if (!csv) std::printf(" %10.4f", Median(missing));
        std::fflush(stdout);
      }
      if (!csv) std::printf("\n");
    }
  }
  return 0;
}
