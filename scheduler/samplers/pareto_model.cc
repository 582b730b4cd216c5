#include "scheduler/samplers/pareto_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduler/models/fit.h"
#include "scheduler/models/hypervolume.h"
#include "scheduler/models/normal.h"
#include "scheduler/samplers/sampler.h"
#include "scheduler/space/rounded.h"
#include "scheduler/state/standing.h"

namespace winnow {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// By the number of objectives.
constexpr size_t kMostFront[] = {1, 1, 100, 32, 16};
constexpr size_t kMostRanked = 1000;   // of the newest trials
constexpr size_t kMostOutcomes = 200;  // of the newest trials, of which failures are learned
constexpr double kMargin = 0.1;
// A front of one value has no range; in deviations of the process.
constexpr double kLeastMargin = 0.1;
constexpr double kLeastVariance = 1e-12;
constexpr double kSurely = 1.645;  // deviations: with a chance of 95 %

const FitSettings kCrashFit{
    .most_points = 100, .evaluations = 20, .warp = false, .length_spread = 1, .noise_median = 0.1};

// The fits that were recorded, one for each model; empty: none.
std::vector<std::vector<double>> RecordedFits(const std::vector<double>& packed, size_t models) {
  std::vector<std::vector<double>> fits(models);
  size_t at = 0;
  for (size_t i = 0; i < models && at < packed.size(); ++i) {
    const auto length = static_cast<size_t>(packed[at]);
    fits[i].assign(packed.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                   packed.begin() + static_cast<std::ptrdiff_t>(at + 1 + length));
    at += 1 + length;
  }
  return fits;
}

std::vector<double> Negated(std::vector<double> point) {
  for (double& value : point) value = -value;
  return point;
}

// How much each trial is to be part of the models, where there are too many: the front of the whole job
// first, then the newest by their rank.
std::vector<double> PreferenceOf(const JobState& state, const std::vector<Objective>& goals) {
  const std::vector<TrialState>& trials = state.trials();
  if (trials.size() <= TrialModel::kMostTrials) return {};
  const auto last = -static_cast<double>(trials.size());
  std::vector<double> preference(trials.size(), last);
  double rank = 0;
  const auto prefer = [&](std::vector<Standing> standings) {
    for (const RankedTrial& ranked : RankingOf(goals, std::move(standings)))
      preference[ranked.number - 1] = -rank++;
  };
  prefer(state.front());
  if (const auto best = state.best_trial()) preference[*best - 1] = 1;
  std::vector<Standing> newest;
  for (size_t i = trials.size() - std::min(trials.size(), kMostRanked); i < trials.size(); ++i) {
    if (preference[i] == last) newest.push_back(FinalStanding(state.spec(), trials[i]));
  }
  prefer(std::move(newest));
  return preference;
}

}  // namespace

ParetoModel::ParetoModel(const JobState& state, TrialModel::Basis basis)
    : state_(state), goals_(state.spec().AllObjectives()) {
  AddModels(basis);
  const bool any =
      std::none_of(objectives_.begin(), objectives_.end(), [](const auto& model) { return model->empty(); });
  if (!any) return;
  AddCrashes();
  FindFronts();
}

void ParetoModel::AddModels(TrialModel::Basis basis) {
  const SearchSpec& spec = state_.spec();
  const size_t models = goals_.size() + spec.metric_constraints.size();
  const std::vector<std::vector<double>> fits = RecordedFits(state_.model(), models);
  const std::vector<double> preference = PreferenceOf(state_, goals_);
  for (size_t i = 0; i < goals_.size(); ++i) {
    TrialModel::Metric metric;
    metric.index = static_cast<int64_t>(i);
    metric.sign = -goals_[i].Key(1);
    metric.recorded = fits[i];
    metric.preference = preference;
    // A hypervolume counts distances between values as they are.
    metric.power = goals_.size() > 1 ? TransformPower::kOne : TransformPower::kFitted;
    // What lies beyond a threshold adds nothing to a hypervolume, however far. Where values rise from level
    // to level they begin there, and their steps keep their proportions.
    if (goals_.size() > 1 && goals_[i].threshold && RungLevels(state_).size() <= 1)
      metric.worthless = metric.sign * *goals_[i].threshold;
    objectives_.push_back(std::make_unique<TrialModel>(state_, basis, metric));
  }
  for (size_t i = 0; i < spec.metric_constraints.size(); ++i) {
    const MetricConstraint& constraint = spec.metric_constraints[i];
    const bool below = std::isfinite(constraint.at_most);
    TrialModel::Metric metric;
    metric.index = spec.RankingIndex(constraint.metric);
    metric.sign = below ? -1 : 1;
    metric.newest = true;
    metric.recorded = fits[goals_.size() + i];
    metric.preference = preference;
    // Trials of any level say whether a constraint can be satisfied.
    auto model = std::make_unique<TrialModel>(state_, TrialModel::Basis::kAll, metric);
    if (model->empty()) continue;
    const double bound = model->FromObjective(below ? constraint.at_most : constraint.at_least);
    constraints_.push_back({std::move(model), bound});
  }
}

void ParetoModel::AddCrashes() {
  const std::vector<TrialState>& trials = state_.trials();
  std::vector<std::pair<const TrialState*, double>> outcomes;
  double failed = 0;
  for (auto trial = trials.rbegin(); trial != trials.rend() && outcomes.size() < kMostOutcomes; ++trial) {
    const bool crashed = trial->phase == TrialPhase::kFailed && !state_.FailedByMachines(*trial);
    if (!crashed && (trial->phase == TrialPhase::kFailed || trial->value_resource == 0)) continue;
    outcomes.emplace_back(&*trial, crashed ? -1 : 1);
    failed += crashed ? 1 : 0;
  }
  if (failed == 0) return;
  const auto count = static_cast<Index>(outcomes.size());
  Observations observations{MatrixXd(count, static_cast<Index>(points().columns().size())),
                            VectorXd(count),
                            VectorXd::Zero(count),
                            {}};
  for (Index i = 0; i < count; ++i) {
    const auto& [trial, outcome] = outcomes[static_cast<size_t>(i)];
    observations.points.row(i) = points().PointOf(trial->configuration).transpose();
    observations.values[i] = outcome;
  }
  const FeatureMap map(points().columns());
  crashes_ = std::make_unique<GaussianProcess>(map, Fit(map, observations, kCrashFit), observations);
}

void ParetoModel::FindFronts() {
  // Trials that were seen and are feasible as far as is known, and those that run without a result.
  std::vector<VectorXd> candidates;
  std::vector<bool> runs;
  for (const TrialModel::Known& known : this->known()) {
    const TrialState& trial = state_.trial(known.trial);
    if (!FinalStanding(state_.spec(), trial).feasible()) continue;
    candidates.push_back(known.point);
    runs.push_back(!trial.ended() && trial.phase != TrialPhase::kPaused);
  }
  std::vector<VectorXd> running;
  const size_t count = state_.trials().size();
  for (size_t i = count > kMostRanked ? count - kMostRanked : 0; i < count; ++i) {
    const TrialState& trial = state_.trials()[i];
    if (trial.ended() || trial.phase == TrialPhase::kPaused || trial.value_resource > 0) continue;
    running.push_back(points().PointOf(trial.configuration));
  }
  if (!running.empty()) {
    const VectorXd log_feasible = LogFeasible(RowsOf(running));
    for (size_t i = 0; i < running.size(); ++i) {
      if (log_feasible[static_cast<Index>(i)] > std::log(0.5)) candidates.push_back(std::move(running[i]));
    }
  }
  runs.resize(candidates.size(), true);
  std::vector<ObjectivePoint> expected(candidates.size(), ObjectivePoint(goals_.size()));  // less is better
  const MatrixXd rows = RowsOf(candidates);
  for (size_t j = 0; j < goals_.size() && !candidates.empty(); ++j) {
    const VectorXd means = objectives_[j]->process().Means(rows);
    for (size_t i = 0; i < candidates.size(); ++i) expected[i][j] = -means[static_cast<Index>(i)];
  }
  if (goals_.size() == 1) reached_ = expected;
  for (const Standing& standing : state_.front()) {
    ObjectivePoint& point = reached_.emplace_back();
    for (size_t j = 0; j < goals_.size(); ++j)
      point.push_back(-objectives_[j]->FromObjective(goals_[j].Key(standing.keys[j])));
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (runs[i] && goals_.size() > 1) reached_.push_back(expected[i]);
  }
  // What a paused trial has reached stays reached as long as it is not trained on, which may make it worse.
  for (size_t i = 0; i < state_.front().size() && goals_.size() > 1; ++i) {
    const TrialState& trial = state_.trial(state_.front()[i].number);
    if (trial.phase != TrialPhase::kPaused) continue;
    candidates.push_back(points().PointOf(trial.configuration));
    expected.push_back(reached_[i]);
  }
  Front front = FrontOf(expected);
  improvement_ = std::move(front.improvement);
  for (const size_t index : front.kept) front_.push_back(candidates[index]);
}

ParetoModel::Front ParetoModel::FrontOf(const std::vector<ObjectivePoint>& keys) const {
  const std::vector<size_t> front = FirstFront(keys);
  std::vector<ObjectivePoint> of_front;
  for (const size_t index : front) of_front.push_back(keys[index]);
  std::vector<double> reference(goals_.size());
  ObjectivePoint reference_key(goals_.size());
  for (size_t j = 0; j < goals_.size(); ++j) {
    const TrialModel& model = *objectives_[j];
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const ObjectivePoint& key : of_front) {
      low = std::min(low, -key[j]);
      high = std::max(high, -key[j]);
    }
    if (of_front.empty()) {
      for (const TrialModel::Known& known : model.known()) low = high = std::min(low, known.end.mean);
      if (!std::isfinite(low)) low = high = 0;
    }
    reference[j] = goals_[j].threshold && goals_.size() > 1
                       ? model.FromObjective(*goals_[j].threshold)
                       : low - std::max(kMargin * (high - low), kLeastMargin);
    // A single objective improves on the best alone.
    if (goals_.size() == 1 && !of_front.empty()) reference[j] = -of_front[0][0];
    reference_key[j] = -reference[j];
  }
  Front result;
  for (const size_t index : SpreadOrder(of_front, reference_key)) {
    if (result.kept.size() == kMostFront[goals_.size()]) break;
    result.kept.push_back(front[index]);
    result.points.push_back(Negated(of_front[index]));
  }
  result.reference = std::move(reference);
  result.improvement = std::make_unique<HypervolumeImprovement>(result.points, result.reference);
  return result;
}

std::vector<ParetoModel::Gate> ParetoModel::Gates() const {
  std::vector<Gate> gates;
  for (const Bounded& constraint : constraints_)
    gates.push_back({&constraint.model->process(), constraint.bound});
  if (crashes_) gates.push_back({crashes_.get(), 0});
  return gates;
}

VectorXd ParetoModel::LogFeasible(const MatrixXd& rows) const {
  VectorXd logs = VectorXd::Zero(rows.rows());
  for (const Gate& gate : Gates()) {
    const auto [means, variances] = gate.process->PredictAll(rows);
    for (Index i = 0; i < rows.rows(); ++i)
      logs[i] += LogNormalCdf((means[i] - gate.bound) / std::sqrt(variances[i] + kLeastVariance));
  }
  return logs;
}

std::vector<double> ParetoModel::refitted() const {
  bool any = false;
  std::vector<double> packed;
  const auto add = [&](const TrialModel& model) {
    any = any || !model.refitted().empty();
    const std::vector<double> fit = model.empty() ? std::vector<double>() : model.fitted().Pack();
    packed.push_back(static_cast<double>(fit.size()));
    packed.insert(packed.end(), fit.begin(), fit.end());
  };
  for (const auto& model : objectives_) add(*model);
  if (constraints_.size() == state_.spec().metric_constraints.size()) {
    for (const Bounded& constraint : constraints_) add(*constraint.model);
  }
  return any ? packed : std::vector<double>();
}

ParetoModel::Outlook ParetoModel::OutlookOf(const VectorXd& point) const {
  return OutlooksOf(point.transpose(), *improvement_)[0];
}

std::vector<ParetoModel::Outlook> ParetoModel::OutlooksOfKnown(const std::vector<size_t>& places) const {
  if (places.empty()) return {};
  std::vector<VectorXd> ends;
  for (const size_t place : places) ends.push_back(known()[place].point);
  const Front front = FrontOf(reached_);
  std::vector<Outlook> outlooks = OutlooksOf(RowsOf(ends), *front.improvement);
  for (size_t i = 0; i < places.size() && goals_.size() > 1; ++i)
    TakePlace(front, known()[places[i]].trial, outlooks[i]);
  return outlooks;
}

void ParetoModel::TakePlace(const Front& front, TrialNumber trial, Outlook& outlook) const {
  const std::vector<Standing>& members = state_.front();
  const auto member = std::find_if(members.begin(), members.end(),
                                   [&](const Standing& each) { return each.number == trial; });
  const auto place =
      std::find(front.kept.begin(), front.kept.end(), static_cast<size_t>(member - members.begin()));
  if (member == members.end() || place == front.kept.end()) return;
  const auto at = place - front.kept.begin();
  const std::vector<double>& now = front.points[static_cast<size_t>(at)];
  bool worse = false;
  for (size_t j = 0; j < goals_.size(); ++j) {
    const Prediction& end = outlook.ends[j];
    worse = worse || end.mean + kSurely * std::sqrt(end.variance) < now[j];
  }
  if (!worse) return;
  std::vector<std::vector<double>> others = front.points;
  others.erase(others.begin() + at);
  std::vector<ObjectivePoint> keys;
  for (const std::vector<double>& point : others) keys.push_back(Negated(point));
  const double own = OwnHypervolume(Negated(now), keys, Negated(front.reference));
  const double end = std::exp(HypervolumeImprovement(others, front.reference).LogExpected(outlook.ends));
  outlook.log_improvement = std::log(std::max(end - own, 0.0)) + std::log(outlook.chance_of_feasible);
}

std::vector<ParetoModel::Outlook> ParetoModel::OutlooksOf(const MatrixXd& rows,
                                                          const HypervolumeImprovement& improvement) const {
  std::vector<Outlook> outlooks(static_cast<size_t>(rows.rows()));
  for (const auto& model : objectives_) {
    const auto [means, variances] = model->process().PredictAll(rows);
    for (Index i = 0; i < rows.rows(); ++i)
      outlooks[static_cast<size_t>(i)].ends.push_back({means[i], variances[i]});
  }
  const VectorXd log_feasible = LogFeasible(rows);
  for (Index i = 0; i < rows.rows(); ++i) {
    Outlook& outlook = outlooks[static_cast<size_t>(i)];
    outlook.chance_of_feasible = std::exp(log_feasible[i]);
    outlook.log_improvement = improvement.LogExpected(outlook.ends) + log_feasible[i];
    outlook.chance = improvement.Chance(outlook.ends) * outlook.chance_of_feasible;
  }
  return outlooks;
}

std::string ParetoModel::Expectation(const Outlook& outlook) const {
  std::string text = "expected ";
  for (size_t i = 0; i < goals_.size(); ++i) {
    text += (i == 0 ? "" : ", ") + goals_[i].metric + " " +
            ThreeDigits(objectives_[i]->ToObjective(outlook.ends[i].mean));
  }
  const std::vector<int64_t> levels = RungLevels(state_);
  if (!levels.empty()) text += " at resource " + std::to_string(levels.back());
  if (!constraints_.empty() || crashes_)
    text += ", " + Percent(outlook.chance_of_feasible, 0) + " chance to be feasible";
  return text + ", " + Percent(outlook.chance, 0) +
         (goals_.size() > 1 ? " chance to add to the front" : " chance to be the best");
}

std::vector<VectorXd> ParetoModel::BestFirst() const {
  // The front in the order of its spread, then the others, the least violation first.
  std::vector<VectorXd> points = front_;
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < known().size(); ++i)
    order.emplace_back(FinalStanding(state_.spec(), state_.trial(known()[i].trial)).violation, i);
  std::sort(order.begin(), order.end());
  for (const auto& [violation, i] : order) points.push_back(known()[i].point);
  return points;
}

VectorXd ParetoModel::Scores(const MatrixXd& rows) const {
  std::vector<std::pair<VectorXd, VectorXd>> ends;
  for (const auto& model : objectives_) ends.push_back(model->process().PredictAll(rows));
  VectorXd scores(rows.rows());
  std::vector<Prediction> values(goals_.size());
  for (Index i = 0; i < rows.rows(); ++i) {
    for (size_t j = 0; j < ends.size(); ++j) values[j] = {ends[j].first[i], ends[j].second[i]};
    scores[i] = improvement_->LogExpected(values);
  }
  return scores + LogFeasible(rows);
}

Acquisition ParetoModel::ScoreOf(const VectorXd& point) const {
  std::vector<Prediction> values;
  std::vector<VectorXd> by_mean(goals_.size()), by_variance(goals_.size());
  for (size_t j = 0; j < goals_.size(); ++j)
    values.push_back(objectives_[j]->process().Predict(point, by_mean[j], by_variance[j]));
  VectorXd mean_slopes, variance_slopes;
  Acquisition score{improvement_->LogExpected(values, mean_slopes, variance_slopes),
                    VectorXd::Zero(point.size())};
  for (size_t j = 0; j < goals_.size(); ++j) {
    const auto at = static_cast<Index>(j);
    score.gradient += mean_slopes[at] * by_mean[j] + variance_slopes[at] * by_variance[j];
  }
  for (const Gate& gate : Gates()) {
    VectorXd mean_gradient, variance_gradient;
    const Prediction value = gate.process->Predict(point, mean_gradient, variance_gradient);
    const double deviation = std::sqrt(value.variance + kLeastVariance);
    const double z = (value.mean - gate.bound) / deviation, slope = LogNormalCdfSlope(z);
    score.value += LogNormalCdf(z);
    score.gradient +=
        slope * (mean_gradient / deviation - z / (2 * deviation * deviation) * variance_gradient);
  }
  return score;
}

}  // namespace winnow
