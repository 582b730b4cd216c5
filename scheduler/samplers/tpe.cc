#include "scheduler/samplers/tpe.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduler/models/kernel_density.h"
#include "scheduler/samplers/indifference.h"
#include "scheduler/samplers/priors.h"
#include "scheduler/samplers/random.h"
#include "scheduler/samplers/sobol.h"
#include "scheduler/samplers/transfer.h"
#include "scheduler/samplers/unit_points.h"
#include "scheduler/space/random.h"
#include "scheduler/state/standing.h"

namespace winnow {
namespace {

constexpr double kRandomFraction = 1.0 / 3;  // of BOHB
constexpr int kDrawn = 32;
// Draws from the density of the best, until so many keep the constraints.
constexpr int kMostDrawsPerCandidate = 20;
// How large a part of the trials is the best; no more than so many.
constexpr double kBestPart = 0.15;
constexpr int64_t kMostBest = 40;
// A suggestion's cost does not grow beyond these: the newest trials, and of their points that are not the
// best.
constexpr size_t kNewestSplit = 20'000;
constexpr size_t kMostOthers = 400;
// Results of earlier jobs, less one for each of this job's.
constexpr int64_t kMostEarlier = 40;
// Ranking standings costs the square of their number: only the newest trials are ranked.
constexpr size_t kMostStandings = 2000;
// Kernels narrower than that look at nothing but their own point.
constexpr double kLeastBandwidth = 1e-3;

// A result: less is better; +infinity: none, or the worst.
struct Outcome {
  const Configuration* configuration = nullptr;
  double key = 0;
};

struct History {
  int64_t level = 0;  // 0: no rungs
  int64_t results = 0;
  std::vector<Outcome> outcomes;
};

// Whether a range was changed so that the trial is not of the space: densities are those of what may be
// tried.
bool IsElsewhere(const JobState& state, const TrialState& trial) {
  return state.ranges_changed() && !state.space().Holds(trial.configuration);
}

// The last level at which the trial says how good it is: its own end counts for all above it.
int64_t Reached(const TrialState& trial) {
  if (trial.curve.empty()) return 0;
  return trial.at_own_end ? std::numeric_limits<int64_t>::max() : trial.curve.back().first;
}

// The highest level that more than `least` results are from.
int64_t LevelOf(const JobState& state, const std::vector<int64_t>& levels, size_t first, int64_t least) {
  std::vector<int64_t> reached(levels.size() + 1);  // by how many levels they have passed
  const auto passed = [&levels](int64_t resource) {
    return std::upper_bound(levels.begin(), levels.end(), resource) - levels.begin();
  };
  for (size_t i = first; i < state.trials().size(); ++i) {
    const TrialState& trial = state.trials()[i];
    if (!IsElsewhere(state, trial)) ++reached[passed(Reached(trial))];
  }
  for (const EarlierResult& earlier : state.earlier_results()) {
    ++reached[earlier.resource == 0 ? levels.size() : passed(earlier.resource)];
  }
  int64_t results = 0;
  for (size_t k = levels.size(); k-- > 0;) {
    results += reached[k + 1];
    if (results > least) return levels[k];
  }
  return levels.front();
}

// With several objectives or metric constraints: by RankingOf, the best first. Infeasible trials count as
// results only where no feasible trial does.
void AddRanked(const JobState& state, size_t first, History& history) {
  std::vector<Standing> standings;
  int64_t feasible = 0;
  for (size_t i = std::max(first, state.trials().size() - std::min(state.trials().size(), kMostStandings));
       i < state.trials().size(); ++i) {
    const TrialState& trial = state.trials()[i];
    if (IsElsewhere(state, trial)) continue;
    Standing standing{trial.number, {}, 0};
    if (trial.phase != TrialPhase::kFailed) {
      if (history.level > 0) {
        if (Reached(trial) >= history.level) standing = StandingAt(state.spec(), trial, history.level);
      } else if (trial.ended()) {
        standing = FinalStanding(state.spec(), trial);
      }
    }
    history.results += standing.finite() ? 1 : 0;
    feasible += standing.finite() && standing.feasible() ? 1 : 0;
    standings.push_back(std::move(standing));
  }
  if (feasible > 0) history.results = feasible;
  for (const RankedTrial& ranked : RankingOf(state.spec().AllObjectives(), standings))
    history.outcomes.push_back({&state.trial(ranked.number).configuration, 0});
}

// Results of earlier jobs, each job's ranked among its own: one that is better than a part of them counts as
// if it were better than that part of this job's. The more results this job has, the fewer are added.
void AddEarlier(const JobState& state, History& history) {
  if (history.results >= kMostEarlier) return;
  std::vector<double> keys;  // of this job's results, the best first
  for (const Outcome& outcome : history.outcomes) {
    if (std::isfinite(outcome.key)) keys.push_back(outcome.key);
  }
  std::sort(keys.begin(), keys.end());
  const std::vector<EarlierResult>& earlier = state.earlier_results();
  const double sign = state.spec().goal == Goal::kMaximize ? 1 : -1;
  for (const EarlierSource& source :
       SourcesOf(earlier, sign, static_cast<size_t>(kMostEarlier - history.results))) {
    for (size_t i = 0; i < source.size(); ++i) {
      const EarlierResult& result = earlier[source[i]];
      if (result.resource != 0 && result.resource < history.level) continue;
      if (!state.space().Holds(result.configuration)) continue;
      const double part = static_cast<double>(i) / static_cast<double>(source.size());
      const double key =
          keys.empty() ? part : keys[static_cast<size_t>(part * static_cast<double>(keys.size()))];
      history.outcomes.push_back({&result.configuration, key});
      ++history.results;
    }
  }
}

History HistoryOf(const JobState& state) {
  History history;
  const double sign = state.spec().goal == Goal::kMaximize ? -1 : 1;
  const size_t count = state.trials().size();
  const size_t first = count > kNewestSplit ? count - kNewestSplit : 0;
  const auto levels = RungLevels(state);
  if (!levels.empty()) {
    history.level = LevelOf(state, levels, first, static_cast<int64_t>(state.spec().parameters.size()));
  }
  const auto add = [&history, sign](const Configuration& configuration, std::optional<double> value) {
    const bool finite = value && std::isfinite(*value);
    history.results += finite ? 1 : 0;
    history.outcomes.push_back(
        {&configuration, finite ? sign * *value : std::numeric_limits<double>::infinity()});
  };
  if (state.spec().ranks_by_standing()) {
    AddRanked(state, first, history);
    return history;
  }
  for (size_t i = first; i < count; ++i) {
    const TrialState& trial = state.trials()[i];
    if (IsElsewhere(state, trial)) continue;
    std::optional<double> value;
    if (history.level > 0) {
      if (Reached(trial) >= history.level)
        value = trial.counted_at(history.level, state.spec().objective_value);
    } else if (trial.ended() && trial.value_resource > 0) {
      value = trial.value;
    }
    if (trial.phase == TrialPhase::kFailed) value.reset();
    add(trial.configuration, value);
  }
  AddEarlier(state, history);
  std::stable_sort(history.outcomes.begin(), history.outcomes.end(),
                   [](const Outcome& a, const Outcome& b) { return a.key < b.key; });
  return history;
}

// Half of a cell is the least bandwidth, so that neighbours are tried.
std::vector<DensityAxis> AxesOf(const UnitPoints& points) {
  std::vector<DensityAxis> axes;
  for (size_t j = 0; j < points.columns().size(); ++j) {
    DensityAxis& axis = axes.emplace_back();
    axis.categories = points.columns()[j].categories;
    const auto values = static_cast<double>(points.values(j));
    axis.least_bandwidth = std::max(kLeastBandwidth, values > 0 ? 0.5 / values : 0);
  }
  return axes;
}

// At most `most` of outcomes from..to, evenly chosen; a column each.
Eigen::MatrixXd PointsOf(const UnitPoints& points, const std::vector<Outcome>& outcomes, size_t from,
                         size_t to, size_t most) {
  const size_t count = std::min(most, to - from);
  Eigen::MatrixXd columns(static_cast<Eigen::Index>(points.columns().size()),
                          static_cast<Eigen::Index>(count));
  for (size_t k = 0; k < count; ++k) {
    columns.col(static_cast<Eigen::Index>(k)) =
        points.PointOf(*outcomes[from + k * (to - from) / count].configuration);
  }
  return columns;
}

// "3.1", "12", "0.4"
std::string Times(double ratio) {
  const double digits = ratio < 10 ? 10 : 1;
  return DoubleToString(std::round(std::min(ratio, 1e6) * digits) / digits);
}

}  // namespace

std::optional<Suggestion> TpeSampler::Draw(const JobState& state, TrialNumber number, int64_t redraw) const {
  const SearchSpec& spec = state.spec();
  static const SobolSampler sobol;
  if (StartsUp(state, number)) return sobol.Draw(state, number, redraw);
  const bool at_random =
      TraitsOf(spec.pruner.kind).cycle && RandomUnit(spec.seed, number, Purpose::kModel, 0) < kRandomFraction;
  if (!at_random) return std::nullopt;
  return Suggestion{RandomConfiguration(spec, state.space(), number, redraw),
                    "Drawn at random, as a third of the trials of TPE under HYPERBAND."};
}

Suggested TpeSampler::Suggest(const JobState& state) const {
  const TrialNumber number = state.next_trial();
  const SearchSpec& spec = state.spec();
  const History history = HistoryOf(state);
  const auto best = static_cast<size_t>(
      std::min({kMostBest, history.results,
                static_cast<int64_t>(std::ceil(kBestPart * static_cast<double>(history.results)))}));
  const UnitPoints points(state.space());
  const Indifference indifference(state, points);
  const std::vector<DensityAxis> axes = AxesOf(points);
  const KernelDensity good(axes, PointsOf(points, history.outcomes, 0, best, best));
  const KernelDensity others(axes,
                             PointsOf(points, history.outcomes, best, history.outcomes.size(), kMostOthers));
  const PriorWeights priors(state, points, history.results, [&](size_t i) -> Eigen::VectorXd {
    return points.PointOf(*history.outcomes[i].configuration);
  });
  uint64_t draws = 0;
  const auto uniform = [&] { return RandomUnit(spec.seed, number, Purpose::kModel, ++draws); };
  Configuration chosen;
  double most = -std::numeric_limits<double>::infinity(), ratio = 0;
  for (int draw = 0, kept = 0; kept < kDrawn && draw < kDrawn * kMostDrawsPerCandidate; ++draw) {
    Eigen::VectorXd drawn = good.Draw(uniform);
    if (priors.strength() > 0 && uniform() < priors.strength() / 2) {
      for (Eigen::Index j = 0; j < drawn.size(); ++j) drawn[j] = priors.Draw(j, uniform());
    }
    Configuration candidate = points.ConfigurationOf(drawn);
    if (!state.space().Satisfies(candidate) || state.tried(candidate)) continue;
    const Eigen::VectorXd point = points.PointOf(candidate);
    if (indifference.IsNearKnown(point)) continue;
    ++kept;
    const double denser = good.LogDensity(point) - others.LogDensity(point);
    const double preference = denser + priors.Log(point);
    if (preference <= most) continue;
    most = preference;
    ratio = denser;
    chosen = std::move(candidate);
  }
  if (chosen.empty()) {
    return NewTrial(state, {RandomConfiguration(spec, state.space(), number),
                            "Drawn at random: what TPE prefers breaks constraints or was tried already."});
  }
  std::string why = "TPE on " + std::to_string(history.results) + " trials";
  if (history.level > 0) why += " at resource " + std::to_string(history.level);
  return NewTrial(
      state, {std::move(chosen), why + ": " + Times(std::exp(ratio)) + " times as dense among the best " +
                                     std::to_string(best) + " as among the others" + priors.Text() + "."});
}

}  // namespace winnow
