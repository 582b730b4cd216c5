// How good Winnow's predictions of the ends of learning curves are, on families and recorded tables, scored
// as ifBO scores them (Rakotoarison et al., ICML 2024, section 5.1): log-likelihood and squared error of the
// last value, from the beginnings of curves; and how many of the ends lie in the central 90 % interval.
//
//   bench-predictions --family rows:TABLE [--family smooth:TABLE ...] [--points 400,1000,1800]
//   [--seeds 1..10]
//                     [--beginnings random|job] [--each]
//
// random: configurations drawn uniformly, each trained to a rung drawn uniformly of FREEZE_THAW's, until the
// reports are as many as --points. job: what the default strategy has trained after as many units. Then the
// end of every paused trial is predicted, as `winnow describe` does, and compared with what it would have
// been. Trials whose curve is not finite to its end are left out.
//
// Scores are on a scale where 0 is the median of first reports, and 1 the best value of the family; what is
// beyond counts as 0 or 1. The likelihood is that of the end's cell, of a thousand on the scale, by its
// width.
//
// --each: instead, a line for every prediction, as CSV: the trial and who chose it, the rung and the level it
// has reached, its last value, the predicted end, the true end (all three on the scale, but not cut), and the
// error in deviations.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "bench/search/families.h"
#include "bench/search/job_of.h"
#include "bench/search/strategies.h"
#include "scheduler/decide.h"
#include "scheduler/models/normal.h"
#include "scheduler/models/quantile.h"
#include "scheduler/samplers/trial_model.h"
#include "scheduler/simulate.h"
#include "scheduler/space/random.h"

namespace winnow {
namespace {

constexpr double kMiddle90 = 1.645;  // deviations on either side
constexpr int kCells = 1000;

struct Scores {
  double log_likelihood = 0, squared_error = 0, of_last = 0, covered = 0, predictions = 0;
  double seconds = 0, models = 0;
};

class Scale {
 public:
  Scale(const Family& family, const SearchSpace& space) : best_(family.optimum()) {
    constexpr int kDrawn = 301;
    std::vector<double> first;
    for (int i = 0; i < kDrawn; ++i) {
      const double value = family.Value(Drawn(space, 0, i), 1);
      if (std::isfinite(value)) first.push_back(value);
    }
    low_ = Quantile(first, 0.5);
  }

  static std::vector<double> Drawn(const SearchSpace& space, uint64_t seed, int number) {
    std::vector<double> unit;
    const size_t count = space.parameters().size();
    for (size_t j = 0; j < count; ++j) unit.push_back(RandomUnit(seed, number + 1, Purpose::kSimulation, j));
    return unit;
  }

  double Uncut(double value) const { return (value - low_) / (best_ - low_); }
  double Of(double value) const { return std::clamp(Uncut(value), 0.0, 1.0); }
  double ValueAt(double place) const { return low_ + place * (best_ - low_); }

 private:
  double low_ = 0, best_;
};

double LogLikelihood(const TrialModel& model, const Scale& scale, double mean, double deviation, double end) {
  constexpr double kLeast = 1e-12;
  const int cell = std::min(kCells - 1, static_cast<int>(scale.Of(end) * kCells));
  const auto below = [&](int edge) {
    if (edge == 0) return 0.0;
    if (edge == kCells) return 1.0;
    const double at = model.FromObjective(scale.ValueAt(static_cast<double>(edge) / kCells));
    return NormalCdf((at - mean) / deviation);
  };
  return std::log(std::max(kLeast, below(cell + 1) - below(cell)) * kCells);
}

// Scores the predictions of all paused trials of a job.
template <typename EndOf>
void Score(const JobState& state, const Scale& scale, const EndOf& end_of, bool each, Scores& scores) {
  const auto start = std::chrono::steady_clock::now();
  const TrialModel model(state);
  scores.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  scores.models += 1;
  if (model.empty()) return;
  for (const TrialModel::Known& known : model.known()) {
    const TrialState& trial = state.trial(known.trial);
    if (trial.phase != TrialPhase::kPaused) continue;
    const double end = end_of(trial.configuration);
    if (!std::isfinite(end)) continue;
    const Prediction report = model.ReportOf(known.end);
    const double deviation = std::sqrt(report.variance);
    if (each) {
      std::printf("%llu,%lld,%d,%lld,%lld,%.6g,%.6g,%.6g,%.4g,%.4g\n",
                  static_cast<unsigned long long>(state.spec().seed), static_cast<long long>(trial.number),
                  static_cast<int>(trial.created_by), static_cast<long long>(trial.rung),
                  static_cast<long long>(trial.curve.back().first), scale.Uncut(trial.curve.back().second),
                  scale.Uncut(model.ToObjective(report.mean)), scale.Uncut(end),
                  (model.FromObjective(end) - report.mean) / deviation, deviation);
    }
    const double low = model.ToObjective(report.mean - kMiddle90 * deviation);
    const double high = model.ToObjective(report.mean + kMiddle90 * deviation);
    scores.predictions += 1;
    scores.covered += low <= end && end <= high ? 1 : 0;
    scores.squared_error += std::pow(scale.Of(model.ToObjective(report.mean)) - scale.Of(end), 2);
    scores.of_last += std::pow(scale.Of(trial.curve.back().second) - scale.Of(end), 2);
    scores.log_likelihood += LogLikelihood(model, scale, report.mean, deviation, end);
  }
}

// A job of random configurations, each trained to a random rung.
JobState RandomBeginnings(const Family& family, const SearchSpec& spec, const SearchSpace& space,
                          uint64_t seed, int64_t points) {
  JobState state(spec);
  int64_t now_us = 0, reports = 0;
  const auto record = [&](FactBody body) { Advance(state, ++now_us, std::move(body)); };
  for (TrialNumber number = 1; reports < points && !state.closing(); ++number) {
    const std::vector<RungState>& rungs = state.brackets()[0].rungs;
    const auto rung =
        static_cast<size_t>(RandomUnit(seed, number, Purpose::kModel, 0) * static_cast<double>(rungs.size()));
    const int64_t to = rungs[rung].resource;
    const std::vector<double> unit = Scale::Drawn(space, seed, static_cast<int>(number));
    const Configuration configuration = space.FromUnit(unit);
    const Family::Curve curve = family.WholeCurve(space.ToUnit(configuration), seed);
    record(TrialCreated{number, configuration, 0, static_cast<int64_t>(rung), to, "drawn"});
    record(AttemptStarted{number, 1, 0, to});
    for (int64_t level = 1; level <= to && !state.trial(number).ended(); ++level, ++reports)
      record(Reported{number, 1, level, curve.observed[static_cast<size_t>(level) - 1]});
    const bool stopped = state.trial(number).ended();
    record(AttemptEnded{number, 1, stopped ? AttemptOutcome::kStopped : AttemptOutcome::kFinished, "", now_us,
                        now_us + 1});
  }
  return state;
}

JobState JobsBeginnings(const Family& family, SearchSpec spec, const SearchSpace& space, uint64_t seed,
                        int64_t points) {
  std::map<Configuration, Family::Curve> curves;
  spec.limits.max_total_resource = 4 * points;  // so that the last of them is no end
  Simulation simulation;
  JobState then(spec);
  bool taken = false;
  simulation.objective = [&](const Configuration& configuration, int64_t level) {
    auto found = curves.find(configuration);
    if (found == curves.end())
      found = curves.emplace(configuration, family.WholeCurve(space.ToUnit(configuration), seed)).first;
    return found->second.observed[static_cast<size_t>(level) - 1];
  };
  simulation.on_settled = [&](const JobState& state) {
    if (taken || state.totals().resource < points) return;
    then = state;
    taken = true;
  };
  SimulationResult result = Simulate(spec, simulation);
  return taken ? then : std::move(result.state);
}

Scores Play(const Family& family, bool random, bool each, int64_t points, uint64_t first, uint64_t last) {
  Scores scores;
  for (uint64_t seed = first; seed <= last; ++seed) {
    const SearchSpec spec = JobOf(family, kStrategies.at("default"), seed);
    const SearchSpace space(spec.parameters);
    const Scale scale(family, space);
    const JobState state = random ? RandomBeginnings(family, spec, space, seed, points)
                                  : JobsBeginnings(family, spec, space, seed, points);
    Score(
        state, scale,
        [&](const Configuration& configuration) {
          return family.WholeCurve(space.ToUnit(configuration), seed).observed.back();
        },
        each, scores);
  }
  return scores;
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  CLI::App app("Scores Winnow's predictions of the ends of learning curves.");
  std::vector<std::string> families;
  std::vector<int64_t> points{400, 1000, 1800};
  std::string seeds = "1..10", beginnings = "random";
  app.add_option("--family", families, "a closed-form family, rows:TABLE, smooth:TABLE or table:CSV")
      ->required();
  app.add_option("--points", points, "reports that are known")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--seeds", seeds, "A..B, both included");
  app.add_option("--beginnings", beginnings)->check(CLI::IsMember({"random", "job"}));
  bool each = false;
  app.add_flag("--each", each, "print every prediction as CSV");
  CLI11_PARSE(app, argc, argv);
  unsigned long long first = 0, last = 0;
  if (std::sscanf(seeds.c_str(), "%llu..%llu", &first, &last) != 2 || first > last) {
    std::fprintf(stderr, "--seeds %s: expected A..B with A <= B\n", seeds.c_str());
    return 2;
  }
  if (each)
    std::printf("seed,trial,rule,rung,level,last,predicted,end,error,deviation\n");
  else
    std::printf(
        "| curves | points | predictions | log-likelihood | squared error | of the last value | in the 90 %% "
        "interval | ms a model |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const std::string& name : families) {
    auto family = winnow::MakeFamily(name);
    if (!family.ok()) {
      std::fprintf(stderr, "--family %s: %s\n", name.c_str(), std::string(family.status().message()).c_str());
      return 2;
    }
    for (const int64_t count : points) {
      const winnow::Scores scores = winnow::Play(**family, beginnings == "random", each, count, first, last);
      if (each) continue;
      const double count_of = std::max(1.0, scores.predictions);
      std::printf("| %s | %lld | %.0f | %.2f | %.4f | %.4f | %.1f %% | %.0f |\n", name.c_str(),
                  static_cast<long long>(count), scores.predictions, scores.log_likelihood / count_of,
                  scores.squared_error / count_of, scores.of_last / count_of, 100 * scores.covered / count_of,
                  1000 * scores.seconds / std::max(1.0, scores.models));
      std::fflush(stdout);
    }
  }
  return 0;
}
