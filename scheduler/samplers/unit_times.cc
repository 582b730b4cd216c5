#include "scheduler/samplers/unit_times.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <vector>

namespace winnow {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::RowVectorXd;
using Eigen::VectorXd;

constexpr size_t kMostTimed = 1000;  // the newest trials
// Variances of logarithms: of the slope over a whole range, of what is not linear, and of one measured unit.
constexpr double kSlope = 2, kMisfit = 0.05, kUnitNoise = 0.1;

double LogOfMeasured(const TrialState& trial) {
  return std::log(static_cast<double>(trial.timed_us) / static_cast<double>(trial.timed_units));
}

double NoiseOf(const TrialState& trial) { return kUnitNoise / static_cast<double>(trial.timed_units); }

Warping Straight(size_t columns) {
  const auto ones = VectorXd::Ones(static_cast<Index>(columns));
  return {ones, ones, ones};
}

}  // namespace

UnitTimes::UnitTimes(const JobState& state, const UnitPoints& points)
    : points_(points), map_(points.columns()), straight_(Straight(points.columns().size())) {
  if (!state.spec().limits.time_alone()) return;
  const std::vector<TrialState>& trials = state.trials();
  std::vector<VectorXd> measured;
  std::vector<double> logs, weights;
  for (size_t i = trials.size() - std::min(trials.size(), kMostTimed); i < trials.size(); ++i) {
    if (trials[i].timed_units == 0) continue;
    measured.push_back(points_.PointOf(trials[i].configuration));
    logs.push_back(LogOfMeasured(trials[i]));
    weights.push_back(1 / (kMisfit + NoiseOf(trials[i])));
  }
  if (logs.size() < kLeastTrials) return;
  MatrixXd features = map_.Map(RowsOf(measured), straight_);
  VectorXd centred = VectorXd::Map(logs.data(), static_cast<Index>(logs.size()));
  const VectorXd weight = VectorXd::Map(weights.data(), centred.size());
  centre_ = weight.dot(centred) / weight.sum();
  middle_ = weight.transpose() * features / weight.sum();
  centred.array() -= centre_;
  features.rowwise() -= middle_;
  const MatrixXd weighted = weight.asDiagonal() * features;
  MatrixXd precision = features.transpose() * weighted;
  precision.diagonal().array() += 1 / kSlope;
  slopes_ = precision.llt().solve(weighted.transpose() * centred);
}

RowVectorXd UnitTimes::FeaturesOf(const VectorXd& point) const {
  return map_.Map(point.transpose(), straight_).row(0);
}

double UnitTimes::LogOf(const VectorXd& point) const {
  return known() ? (FeaturesOf(point) - middle_).dot(slopes_) : 0;
}

void UnitTimes::AddSlope(const VectorXd& point, VectorXd& gradient, double times) const {
  if (known()) gradient += times * map_.PointGradient(point, straight_, slopes_);
}

double UnitTimes::FactorOf(const VectorXd& point) const { return std::exp(LogOf(point)); }

double UnitTimes::FactorOf(const TrialState& trial, const VectorXd& point) const {
  if (!known() || trial.timed_units == 0) return FactorOf(point);
  const double noise = NoiseOf(trial), measured = LogOfMeasured(trial) - centre_;
  return std::exp((kMisfit * measured + noise * LogOf(point)) / (kMisfit + noise));
}

}  // namespace winnow
