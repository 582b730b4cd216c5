#include "scheduler/samplers/trial_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "scheduler/models/fit.h"
#include "scheduler/models/quantile.h"
#include "scheduler/samplers/sampler.h"
#include "scheduler/samplers/transfer.h"
#include "scheduler/state/repeat_effects.h"

namespace winnow {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Longer histories are cut to the newest.
constexpr size_t kNewest = 20'000;
constexpr int64_t kRungWork = 2;   // a further rung of a trial, counted in trials
constexpr double kMoreWork = 0.1;  // as a part of that at the last fit: then it is fitted anew
// Errors of predictions, in variances of the ends.
constexpr double kEarlierError = 0.05;      // of an earlier job: other data, another seed
constexpr double kPartEarlierError = 0.25;  // at a lower level than the last
constexpr double kFailureError = 0.25;
// Below so many of the job's own results, earlier ones set the scale too: the transform's, and the spread's.
constexpr size_t kFewEnds = 8;
constexpr Index kFewSeen = 3;
constexpr size_t kMostFailed = 50;  // the newest

// On the transform's scale, where ends are about 1 apart. What lies beyond is as far as anything can be: its
// squares leave room for rounding.
constexpr double kFar = 1e4;

double Near(double value) { return std::clamp(value, -kFar, kFar); }

const FitSettings kFitSettings{
    .most_points = 100, .evaluations = 30, .warp = false, .length_spread = 1, .noise_median = 1e-3};

// How often the work has grown by a fifth.
int FifthsOf(int64_t work) { return static_cast<int>(4 * std::log2(static_cast<double>(work) + 1)); }

Hyperparameters Unfitted(size_t parameters) {
  const auto count = static_cast<Index>(parameters);
  Hyperparameters start;
  start.warping = {VectorXd::Constant(count, 0.5 * std::sqrt(static_cast<double>(parameters))),
                   VectorXd::Ones(count), VectorXd::Ones(count)};
  start.noise = kFitSettings.noise_median;
  return start;
}

// The median gain of the few whose values are nearest. REQUIRES values with gains, sorted.
double GainOfNearest(const std::vector<std::pair<double, double>>& made, double value) {
  constexpr ptrdiff_t kNearest = 5;
  auto first = std::lower_bound(made.begin(), made.end(), std::pair{value, 0.0}), last = first;
  while (last - first < kNearest && (first != made.begin() || last != made.end())) {
    const bool below = last == made.end() ||
                       (first != made.begin() && value - std::prev(first)->first <= last->first - value);
    below ? --first : ++last;
  }
  std::vector<double> gains;
  for (; first != last; ++first) gains.push_back(first->second);
  return Quantile(std::move(gains), 0.5);
}

constexpr size_t kPackedGain = 5;  // numbers of a GainFit

// Where the trials would end if they gained what those did that had the nearest values: the median of a few.
// Of trials with other values it says nothing, since trials go on by their values.
std::vector<double> RoughEnds(const std::vector<RungValues>& values, size_t rungs) {
  std::vector<double> ends;
  for (const RungValues& trial : values) ends.push_back(trial.at.back());
  for (size_t k = 1; k < rungs; ++k) {
    std::vector<std::pair<double, double>> made;  // values before the step, and gains
    for (const RungValues& trial : values) {
      if (trial.at.size() > k) made.emplace_back(trial.at[k - 1], trial.at[k] - trial.at[k - 1]);
    }
    if (made.empty()) continue;
    std::sort(made.begin(), made.end());
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].at.size() <= k) ends[i] += GainOfNearest(made, ends[i]);
    }
  }
  return ends;
}

// Which trials the model rests on, if not on all: the best by their rough ends, the newest, those that were
// trained furthest, and an even choice of the others. `rungs`: how many each has reached.
std::vector<size_t> Choose(const std::vector<size_t>& rungs, const std::vector<double>& ends, size_t most) {
  const size_t count = ends.size();
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  if (count <= most) return order;
  std::vector<bool> chosen(count);
  size_t left = most;
  const auto choose = [&](size_t i) {
    if (chosen[i] || left == 0) return;
    chosen[i] = true;
    --left;
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ends[a] > ends[b]; });
  for (size_t i = 0; i < most / 2; ++i) choose(order[i]);
  for (size_t i = 0; i < most / 8; ++i) choose(count - 1 - i);
  std::sort(order.begin(), order.end());
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rungs[a] > rungs[b]; });
  for (size_t i = 0; i < most / 4; ++i) choose(order[i]);
  const size_t places = left;
  for (size_t i = 0; i < places; ++i) choose((2 * i + 1) * count / (2 * places));
  for (size_t i = 0; i < count; ++i) choose(i);
  std::vector<size_t> which;
  for (size_t i = 0; i < count; ++i) {
    if (chosen[i]) which.push_back(i);
  }
  return which;
}

}  // namespace

std::optional<FittedModel> FittedModel::Unpack(const std::vector<double>& packed, size_t parameters,
                                               size_t steps) {
  if (packed.size() != 4 + 3 * parameters + kPackedGain * steps) return std::nullopt;
  const auto count = static_cast<Index>(parameters);
  const auto vector = [&](Index from) -> VectorXd {
    return Eigen::Map<const VectorXd>(&packed[from], count);
  };
  FittedModel model;
  model.work = static_cast<int64_t>(packed[0]);
  model.hyperparameters.warping = {vector(1), vector(1 + count), vector(1 + 2 * count)};
  const size_t rest = 1 + 3 * parameters;
  model.hyperparameters.signal = packed[rest];
  model.hyperparameters.noise = packed[rest + 1];
  model.hyperparameters.mean = packed[rest + 2];
  for (size_t i = rest + 3; i < packed.size(); i += kPackedGain) {
    model.gains.push_back(
        {static_cast<int64_t>(packed[i]), packed[i + 1], packed[i + 2], packed[i + 3], packed[i + 4]});
  }
  return model;
}

std::vector<double> FittedModel::Pack() const {
  std::vector<double> packed{static_cast<double>(work)};
  const Warping& warping = hyperparameters.warping;
  for (const VectorXd* each : {&warping.length, &warping.a, &warping.b}) {
    packed.insert(packed.end(), each->begin(), each->end());
  }
  packed.insert(packed.end(), {hyperparameters.signal, hyperparameters.noise, hyperparameters.mean});
  for (const GainFit& gain : gains) {
    packed.insert(packed.end(),
                  {static_cast<double>(gain.pairs), gain.alike, gain.by_curve, gain.length, gain.rest});
  }
  return packed;
}

TrialModel::TrialModel(const JobState& state, Basis basis)
    : basis_(basis),
      counts_(state.spec().objective_value),
      sign_(state.spec().goal == Goal::kMaximize ? 1 : -1),
      points_(state) {
  Build(state);
}

TrialModel::TrialModel(const JobState& state, Basis basis, const Metric& metric)
    : basis_(basis),
      metric_(metric),
      counts_(metric.index == 0 ? state.spec().objective_value : ObjectiveValue::kLast),
      sign_(metric.sign),
      points_(state) {
  Build(state);
}

void TrialModel::Build(const JobState& state) {
  const size_t parameters = state.spec().parameters.size();
  const std::vector<double>& recorded = metric_ ? metric_->recorded : state.model();
  std::vector<int64_t> levels = RungLevels(state);
  if (metric_ && metric_->newest) levels.clear();
  if (levels.empty()) levels = {1};
  fitted_.hyperparameters = Unfitted(parameters);
  if (basis_ == Basis::kAll) {
    if (auto fitted = FittedModel::Unpack(recorded, parameters, levels.size() - 1))
      fitted_ = *std::move(fitted);
  }
  const Results results = ResultsOf(state, levels);
  if (results.work == 0 || parameters == 0) return;
  Fit(results, levels);
  bar_ = best_;
  AddPending(state);
}

size_t TrialModel::RungsOf(const TrialState& trial, const std::vector<int64_t>& levels) const {
  const Curve& curve = trial.curve_of(metric_ ? metric_->index : 0);
  if (IsOneValue(levels)) {
    const bool counts = trial.ended() || (metric_ && metric_->newest);
    return counts && !curve.empty() && std::isfinite(curve.back().second) ? 1 : 0;
  }
  if (levels.empty()) return trial.ended() && trial.value_resource > 0 ? 1 : 0;
  const bool any =
      std::any_of(curve.begin(), curve.end(), [](const auto& point) { return std::isfinite(point.second); });
  if (!any) return 0;
  if (trial.at_own_end) return levels.size();
  return static_cast<size_t>(std::upper_bound(levels.begin(), levels.end(), curve.back().first) -
                             levels.begin());
}

// The finite part of a trial's curve, as it counts.
SeenCurve TrialModel::CurveOf(const TrialState& trial, const std::vector<int64_t>& levels) const {
  SeenCurve seen;
  seen.rungs = RungsOf(trial, levels);
  if (seen.rungs == 0 && (levels.empty() || IsOneValue(levels))) return seen;
  const Curve& curve = trial.curve_of(metric_ ? metric_->index : 0);
  if (IsOneValue(levels)) {
    seen.points = {{curve.back().first, sign_ * curve.back().second}};
    return seen;
  }
  if (levels.empty()) {
    seen.points = {{trial.value_resource, sign_ * trial.value}};
    return seen;
  }
  ForEachCounted(curve, counts_, [&](int64_t level, double value) {
    if (std::isfinite(value)) seen.points.emplace_back(level, sign_ * value);
  });
  if (seen.points.empty()) seen.rungs = 0;
  return seen;
}

TrialModel::Results TrialModel::ResultsOf(const JobState& state, const std::vector<int64_t>& levels) const {
  Results results;
  const std::vector<EarlierResult>& earlier = state.earlier_results();
  for (const EarlierSource& source : SourcesOf(earlier, sign_, kMostTrials)) {
    for (const size_t i : source) {
      const int64_t level = earlier[i].resource;
      const bool whole = level == 0 || level >= levels.back() || state.brackets().empty();
      results.fixed.push_back({&earlier[i].configuration, sign_ * earlier[i].objective,
                               whole ? kEarlierError : kPartEarlierError});
    }
    results.sources.push_back(static_cast<Index>(source.size()));
  }
  results.work += static_cast<int64_t>(results.fixed.size());

  std::optional<RepeatEffects> repeats;
  if (state.spec().repeats > 0) repeats.emplace(state);
  const std::vector<int64_t> of_rungs = state.brackets().empty() ? std::vector<int64_t>() : levels;
  const size_t least_rungs = basis_ == Basis::kAll ? 1 : levels.size();
  // What the original of equal curves has shown beyond the other, the other would show too.
  const auto shown_by = [&](const TrialState& trial) -> const TrialState& {
    return state.trial(state.duplicates().OriginalOf(trial.number));
  };
  const auto read = [&](const TrialState& trial) {
    Seen seen{trial.number, &trial.configuration, CurveOf(shown_by(trial), of_rungs), 0};
    if (repeats && seen.curve.rungs > 0) {
      seen.curve.points.back().second = sign_ * repeats->MeanOf(trial);
      seen.error = std::sqrt(repeats->variance() / static_cast<double>(trial.curve.size()));
    }
    return seen;
  };
  // Where the choice among many trials needs no curves, only those of the chosen ones are read.
  const bool by_value = !metric_ && of_rungs.empty() && !repeats;
  const bool first_chosen = by_value || (metric_ && !metric_->preference.empty());
  std::vector<const TrialState*> trials;
  std::vector<Seen> seen;
  std::vector<RungValues> values;
  std::vector<size_t> rungs;
  std::vector<double> ends;
  std::vector<const Configuration*> failed;
  const size_t count = state.trials().size();
  for (size_t i = count > kNewest ? count - kNewest : 0; i < count; ++i) {
    const TrialState& trial = state.trials()[i];
    const TrialState& shown = shown_by(trial);
    Seen each;
    if (first_chosen) {
      each.curve.rungs = RungsOf(shown, of_rungs);
    } else {
      each = read(trial);
    }
    const size_t reached = each.curve.rungs;
    const bool no_value = first_chosen ? reached == 0 : each.curve.points.empty();
    const bool no_number = no_value && !shown.curve.empty() && !shown.live;
    if (shown.phase == TrialPhase::kFailed || no_number) {
      failed.push_back(&trial.configuration);
    } else if (reached >= least_rungs) {
      results.work += 1 + kRungWork * (static_cast<int64_t>(reached) - 1);
      trials.push_back(&trial);
      rungs.push_back(reached);
      if (first_chosen) {
        ends.push_back(by_value ? sign_ * shown.value : metric_->preference[trial.number - 1]);
      } else {
        values.push_back(ReadRungs(levels, each.curve));
        seen.push_back(std::move(each));
      }
    }
  }
  if (!first_chosen) ends = RoughEnds(values, levels.size());
  for (const size_t i : Choose(rungs, ends, kMostTrials)) {
    Seen chosen = first_chosen ? read(*trials[i]) : std::move(seen[i]);
    if (!chosen.curve.points.empty()) results.seen.push_back(std::move(chosen));
  }
  if (results.seen.empty()) results.work = static_cast<int64_t>(results.fixed.size());
  if (metric_) failed.clear();
  const size_t known = std::min(failed.size(), kMostFailed);
  for (size_t i = failed.size() - known; i < failed.size(); ++i) {
    results.fixed.push_back({failed[i], std::nullopt, kFailureError});
  }
  return results;
}

void TrialModel::Fit(const Results& results, const std::vector<int64_t>& levels) {
  std::vector<SeenCurve> curves;
  for (const Seen& seen : results.seen) curves.push_back(seen.curve);
  std::vector<RungValues> values = ReadRungs(levels, curves);
  std::vector<double> ends = RoughEnds(values, levels.size());
  // Earlier results count here only until the job has its own: theirs may be of another size.
  const bool few = ends.size() < kFewEnds;
  for (const Fixed& fixed : results.fixed) {
    if (few && fixed.value) ends.push_back(*fixed.value);
  }
  if (metric_) {
    transform_.emplace(ends, metric_->power, metric_->worthless);
  } else {
    transform_.emplace(ends);
  }
  for (RungValues& trial : values) {
    for (double& value : trial.at) value = Near((*transform_)(value));
    for (double& value : trial.before) value = Near((*transform_)(value));
  }

  const auto seen = static_cast<Index>(results.seen.size());
  const auto all = seen + static_cast<Index>(results.fixed.size());
  Observations observations{MatrixXd(all, static_cast<Index>(points_.columns().size())), VectorXd(all),
                            VectorXd::Zero(all), MatrixXd::Zero(all, all)};
  for (Index i = 0; i < all; ++i) {
    const auto at = static_cast<size_t>(i < seen ? i : i - seen);
    observations.points.row(i) =
        points_.PointOf(*(i < seen ? results.seen[at].configuration : results.fixed[at].configuration))
            .transpose();
  }
  const FeatureMap map(points_.columns());
  fitted_.gains.resize(levels.size() - 1);
  Ends predicted;
  refitted_ = PredictEnds(values, map.Map(observations.points.topRows(seen), fitted_.hyperparameters.warping),
                          levels.size(), fitted_.gains, predicted);

  // On to unit spread; what failed comes last, when the worst is known.
  observations.values.head(seen) = predicted.means;
  Index finite = seen;
  while (finite < all && results.fixed[static_cast<size_t>(finite - seen)].value) {
    observations.values[finite] = (*transform_)(*results.fixed[static_cast<size_t>(finite - seen)].value);
    ++finite;
  }
  const Index scale = seen < kFewSeen ? finite : seen;
  centre_ = observations.values.head(scale).mean();
  const double variance = (observations.values.head(scale).array() - centre_).square().mean();
  if (variance > 0) spread_ = std::sqrt(variance);
  observations.values.head(finite) = (observations.values.head(finite).array() - centre_) / spread_;
  // Errors count as independent of each other, although some of a step's error is common to all that make it.
  // With that part the process would take the difference between the trials that went on and those that
  // paused for the common error, and expect of all that pause what the chosen ones reached.
  observations.variances.head(seen) = predicted.variances / (spread_ * spread_);
  for (Index i = 0; i < seen; ++i) {
    const Seen& trial = results.seen[static_cast<size_t>(i)];
    if (trial.error == 0) continue;
    const double value = trial.curve.points.back().second;
    const double width = (*transform_)(value + trial.error) - (*transform_)(value - trial.error);
    observations.variances[i] += std::pow(std::min(width / 2, kFar) / spread_, 2);
  }
  for (Index i = seen; i < all; ++i)
    observations.variances[i] = results.fixed[static_cast<size_t>(i - seen)].error;
  AddSources(results, map, seen, observations);
  observations.values.tail(all - finite).setConstant(observations.values.head(finite).minCoeff());

  if (static_cast<double>(results.work) > static_cast<double>(fitted_.work) * (1 + kMoreWork)) {
    // Where the work has changed little, so has the density: its mode is searched from the former one alone.
    FitSettings settings = kFitSettings;
    if (fitted_.work > 0) settings.start = &fitted_.hyperparameters;
    settings.usual_starts = FifthsOf(results.work) != FifthsOf(fitted_.work);
    fitted_.hyperparameters = winnow::Fit(map, observations, settings);
    fitted_.work = results.work;
    refitted_ = true;
  }
  process_ = std::make_unique<GaussianProcess>(map, fitted_.hyperparameters, observations);
  VectorXd means, variances = VectorXd::Zero(all);
  if (metric_) {
    means = process_->Means(observations.points);
  } else {
    std::tie(means, variances) = process_->PredictAll(observations.points);
  }
  best_ = -std::numeric_limits<double>::infinity();
  for (Index i = 0; i < seen; ++i) {
    const auto at = static_cast<size_t>(i);
    known_.push_back(
        {results.seen[at].trial, observations.points.row(i).transpose(), {means[i], variances[i]}});
    const std::vector<double>& reached = values[at].at;
    const double top =
        counts_ == ObjectiveValue::kBest ? *std::max_element(reached.begin(), reached.end()) : reached.back();
    best_ = std::max(best_, (top - centre_) / spread_);
  }
  results_ = finite;
  // Earlier jobs alone: nothing is reached here yet.
  if (seen == 0) best_ = means.head(finite).minCoeff();
}

void TrialModel::AddSources(const Results& results, const FeatureMap& map, Index seen,
                            Observations& observations) const {
  const Observations own{observations.points.topRows(seen), observations.values.head(seen),
                         observations.variances.head(seen),
                         observations.covariance.topLeftCorner(seen, seen)};
  Index first = seen;
  for (const Index count : results.sources) {
    std::vector<double> values;
    for (Index i = first; i < first + count; ++i)
      values.push_back(*results.fixed[static_cast<size_t>(i - seen)].value);
    const OutputTransform transform(values);
    Observations source{observations.points.middleRows(first, count), VectorXd(count),
                        observations.variances.segment(first, count), MatrixXd()};
    for (Index i = 0; i < count; ++i) source.values[i] = Near(transform(values[static_cast<size_t>(i)]));
    const double mean = source.values.mean();
    const double variance = (source.values.array() - mean).square().mean();
    source.values = (source.values.array() - mean) / (variance > 0 ? std::sqrt(variance) : 1);
    observations.values.segment(first, count) = source.values;
    observations.covariance.block(first, first, count, count) =
        DifferenceOf(map, fitted_.hyperparameters, own, source);
    first += count;
  }
}

void TrialModel::AddPending(const JobState& state) {
  // The newest of many.
  constexpr int64_t kMostPending = 128;
  int64_t left = kMostPending;
  const size_t count = state.trials().size();
  for (size_t i = count; i > 0 && left > 0 && count - i < kNewest; --i) {
    const TrialState& trial = state.trials()[i - 1];
    if (trial.ended() || trial.phase == TrialPhase::kPaused) continue;
    const bool known = std::any_of(known_.begin(), known_.end(),
                                   [&](const Known& each) { return each.trial == trial.number; });
    if (known) continue;
    const VectorXd point = points_.PointOf(trial.configuration);
    // As if it were known without noise: a second one beside it would tell nothing new.
    const double expected = process_->Predict(point).mean;
    process_->Append(point, expected, -fitted_.hyperparameters.noise);
    bar_ = std::max(bar_, expected);
    --left;
  }
}

double TrialModel::FromObjective(double objective) const {
  return ((*transform_)(sign_ * objective) - centre_) / spread_;
}

double TrialModel::ToObjective(double value) const {
  return sign_ * transform_->Inverse(value * spread_ + centre_);
}

}  // namespace winnow
