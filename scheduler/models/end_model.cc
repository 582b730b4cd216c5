#include "scheduler/models/end_model.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduler/models/matern.h"

namespace winnow {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kMoreTrials = 0.1;  // as a part of those at the last fit
// A step is learned from the best and the newest of more trials.
constexpr size_t kBestPairs = 60, kNewestPairs = 40;
constexpr double kTiny = 1e-9;

// Priors of the logarithms of GainFit's variances (mean as its defaults), and bounds.
constexpr double kAlikeSpread = 1.5, kRestSpread = 2, kLogLeast = -16.1, kLogMost = 1.5;

// What a trial's own curve says about its gain to rung k: 1, the gain to rung k - 1, its newest part, and the
// gain times how much smaller it was than the one before. To rung 1 there is only the 1.
constexpr Index kFeatures = 4;
Index FeatureCount(size_t k) { return k == 1 ? 1 : kFeatures; }

struct StepPrior {
  VectorXd mean, variance;
};
// Between no gain at all and a gain that shrinks as it did before.
StepPrior StepPriorOf(size_t k) {
  if (k == 1) return {VectorXd::Zero(1), VectorXd::Constant(1, 0.25)};
  return {Eigen::Vector4d(0, 0.3, 0, 0.4), Eigen::Vector4d(0.01, 0.09, 0.25, 0.16)};
}

VectorXd OwnFeatures(const RungValues& trial, size_t k) {
  if (k == 1) return VectorXd::Ones(1);
  const double gain = trial.at[k - 1] - trial.at[k - 2];
  const double newest = trial.at[k - 1] - trial.before[k - 1];
  const double earlier = k >= 3 ? trial.at[k - 2] - trial.at[k - 3] : gain - newest;
  const double shrinks = std::clamp((k >= 3 ? gain : newest) / (earlier + kTiny), 0.0, 1.0);
  return Eigen::Vector4d(1, gain, newest, gain * shrinks);
}

// One step, seen on the trials that have made it.
struct Step {
  MatrixXd own;       // their features, a row each
  MatrixXd features;  // of their configurations
  VectorXd gains;
  StepPrior prior;

  MatrixXd Linear(const MatrixXd& left, const MatrixXd& right) const {
    return left * prior.variance.asDiagonal() * right.transpose();
  }
};

// The mode of the posterior density of the two variances, on a grid that is refined once.
GainFit FitGain(const Step& step) {
  const GainFit usual;
  const Index count = step.gains.size();
  const VectorXd centred = step.gains - step.own * step.prior.mean;
  const MatrixXd linear = step.Linear(step.own, step.own);
  const MatrixXd alike = Matern::Values(step.features, step.features);
  const auto minus_log_density = [&](double log_alike, double log_rest) {
    MatrixXd covariance = linear + std::exp(log_alike) * alike;
    covariance.diagonal().array() += std::exp(log_rest);
    const Eigen::LLT<MatrixXd> factor(covariance);
    if (factor.info() != Eigen::Success) return std::numeric_limits<double>::infinity();
    const VectorXd solved = factor.matrixL().solve(centred);
    return solved.squaredNorm() / 2 + factor.matrixLLT().diagonal().array().log().sum() +
           std::pow((log_alike - std::log(usual.alike)) / kAlikeSpread, 2) / 2 +
           std::pow((log_rest - std::log(usual.rest)) / kRestSpread, 2) / 2;
  };
  double log_alike = std::log(usual.alike), log_rest = std::log(usual.rest);
  double least = std::numeric_limits<double>::infinity();
  const auto search = [&](double step_size, int steps) {
    const double from_alike = log_alike, from_rest = log_rest;
    for (int i = -steps; i <= steps; ++i) {
      for (int j = -steps; j <= steps; ++j) {
        const double a = from_alike + i * step_size, r = from_rest + j * step_size;
        if (a > kLogMost || r > kLogMost || r < kLogLeast) continue;
        const double value = minus_log_density(a, r);
        if (value >= least) continue;
        least = value;
        log_alike = a;
        log_rest = r;
      }
    }
  };
  search(2, 4);
  search(0.7, 2);
  return {count, std::exp(log_alike), std::exp(log_rest)};
}

// Rows `from` of a matrix.
MatrixXd Rows(const MatrixXd& matrix, const std::vector<Index>& from) { return matrix(from, Eigen::all); }

class Predictor {
 public:
  Predictor(const std::vector<RungValues>& values, const MatrixXd& features, std::vector<GainFit>& gains,
            Ends& ends)
      : values_(values), features_(features), gains_(gains), ends_(ends) {
    const auto count = static_cast<Index>(values.size());
    ends_.means = VectorXd(count);
    ends_.covariance = MatrixXd::Zero(count, count);
    last_gain_ = VectorXd::Zero(count);
    gain_covariance_ = cross_covariance_ = MatrixXd::Zero(count, count);
    for (Index i = 0; i < count; ++i) ends_.means[i] = values[static_cast<size_t>(i)].at.back();
  }

  // Carries all that have not reached rung k on to it.
  void StepTo(size_t k) {
    std::vector<Index> made, to_make;
    for (Index i = 0; i < ends_.means.size(); ++i) (Reached(i) > k ? made : to_make).push_back(i);
    if (to_make.empty()) return;
    made = Chosen(std::move(made), k);
    const Step step = StepOf(made, k);
    GainFit& gain = gains_[k - 1];
    const auto pairs = static_cast<int64_t>(made.size());
    if (pairs > 0 && (gain.pairs == 0 ||
                      static_cast<double>(pairs) > static_cast<double>(gain.pairs) * (1 + kMoreTrials))) {
      gain = FitGain(step);
      refitted_ = true;
    }
    CarryOn(step, gain, to_make, k);
  }

  bool refitted() const { return refitted_; }

 private:
  const RungValues& Of(Index i) const { return values_[static_cast<size_t>(i)]; }
  size_t Reached(Index i) const { return Of(i).at.size(); }

  std::vector<Index> Chosen(std::vector<Index> made, size_t k) const {
    if (made.size() <= kBestPairs + kNewestPairs) return made;
    std::stable_sort(made.begin(), made.end(), [&](Index a, Index b) { return Of(a).at[k] > Of(b).at[k]; });
    std::sort(made.begin() + kBestPairs, made.end(), std::greater<>());
    made.resize(kBestPairs + kNewestPairs);
    std::sort(made.begin(), made.end());
    return made;
  }

  Step StepOf(const std::vector<Index>& made, size_t k) const {
    const auto count = static_cast<Index>(made.size());
    Step step{MatrixXd(count, FeatureCount(k)), Rows(features_, made), VectorXd(count), StepPriorOf(k)};
    for (Index i = 0; i < count; ++i) {
      const RungValues& trial = Of(made[static_cast<size_t>(i)]);
      step.own.row(i) = OwnFeatures(trial, k).transpose();
      step.gains[i] = trial.at[k] - trial.at[k - 1];
    }
    return step;
  }

  // How a trial's features stand to its gain so far, on average, and how that varies.
  struct Usual {
    double newest = 0, shrinks = 0;
    double newest_variance = 0, shrinks_variance = 0;
  };

  // The usual values of trials that have made the step; the prior counts as one trial.
  static Usual UsualOf(const Step& step) {
    constexpr double kUsualNewest = 0.3, kUsualShrinks = 0.5, kUsualVariance = 0.04;
    const Eigen::ArrayXd gain = step.own.col(1).array().abs() + 1e-6;
    const double count = static_cast<double>(gain.size()) + 1;
    const auto parts = [&](Index column, double prior, double& mean, double& variance) {
      const Eigen::ArrayXd part = step.own.col(column).array() / gain;
      mean = std::clamp((part.sum() + prior) / count, 0.0, 1.0);
      variance = ((part.max(-1).min(1) - mean).square().sum() + kUsualVariance) / count;
    };
    Usual usual;
    parts(2, kUsualNewest, usual.newest, usual.newest_variance);
    parts(3, kUsualShrinks, usual.shrinks, usual.shrinks_variance);
    return usual;
  }

  // Features of those that have to make the step. Some have not even reached the rung before: their gain so
  // far is the predicted one, and the other features stand to it as is usual.
  MatrixXd FeaturesOf(const Usual& usual, const std::vector<Index>& to_make, size_t k) const {
    MatrixXd own(static_cast<Index>(to_make.size()), FeatureCount(k));
    for (Index i = 0; i < own.rows(); ++i) {
      const Index trial = to_make[static_cast<size_t>(i)];
      if (Reached(trial) == k) {
        own.row(i) = OwnFeatures(Of(trial), k).transpose();
      } else {
        const double gain = last_gain_[trial];
        own(i, 0) = 1;
        if (k > 1) own.row(i).tail(3) = gain * Eigen::RowVector3d(1, usual.newest, usual.shrinks);
      }
    }
    return own;
  }

  void CarryOn(const Step& step, const GainFit& gain, const std::vector<Index>& to_make, size_t k) {
    const Usual usual = k > 1 ? UsualOf(step) : Usual();
    const MatrixXd own = FeaturesOf(usual, to_make, k);
    const MatrixXd features = Rows(features_, to_make);
    VectorXd mean = own * step.prior.mean;
    MatrixXd covariance = step.Linear(own, own) + gain.alike * Matern::Values(features, features);
    VectorXd slopes = step.prior.mean;
    double grows = 0;  // a gain with the gain before it: an error made so far goes on with it
    if (step.gains.size() > 0) {
      MatrixXd seen =
          step.Linear(step.own, step.own) + gain.alike * Matern::Values(step.features, step.features);
      seen.diagonal().array() += gain.rest;
      const Eigen::LLT<MatrixXd> factor(seen);
      const MatrixXd cross =
          step.Linear(step.own, own) + gain.alike * Matern::Values(step.features, features);
      const VectorXd solved = factor.solve(step.gains - step.own * step.prior.mean);
      mean += cross.transpose() * solved;
      const MatrixXd half = factor.matrixL().solve(cross);
      covariance -= half.transpose() * half;
      slopes += step.prior.variance.cwiseProduct(step.own.transpose() * solved);
    }
    if (k > 1) {
      // Where features are only the usual ones, what they vary by is a further error.
      grows = slopes[1] + slopes[2] * usual.newest + slopes[3] * usual.shrinks;
      const double by_part =
          slopes[2] * slopes[2] * usual.newest_variance + slopes[3] * slopes[3] * usual.shrinks_variance;
      for (Index i = 0; i < own.rows(); ++i) {
        if (Reached(to_make[static_cast<size_t>(i)]) < k) covariance(i, i) += by_part * own(i, 1) * own(i, 1);
      }
    }
    covariance.diagonal().array() += gain.rest;

    constexpr double kMostGrowth = 0.8;
    // The newest gain's error goes on in the next one: gain' = growth * gain + error, end' = end + gain'.
    VectorXd growth = VectorXd::Zero(ends_.means.size());
    for (const Index trial : to_make) {
      if (Reached(trial) < k) growth[trial] = std::clamp(grows, 0.0, kMostGrowth);
    }
    gain_covariance_ = growth.asDiagonal() * gain_covariance_ * growth.asDiagonal();
    const MatrixXd carried = cross_covariance_ * growth.asDiagonal();
    gain_covariance_(to_make, to_make) += covariance;
    ends_.covariance += carried + carried.transpose() + gain_covariance_;
    cross_covariance_ = carried + gain_covariance_;
    for (Index i = 0; i < mean.size(); ++i) {
      const Index trial = to_make[static_cast<size_t>(i)];
      ends_.means[trial] += mean[i];
      last_gain_[trial] = mean[i];
    }
  }

  const std::vector<RungValues>& values_;
  const MatrixXd& features_;
  std::vector<GainFit>& gains_;
  Ends& ends_;
  VectorXd last_gain_;  // predicted
  // Covariances of the errors of the last gains: with each other, and (rows) of the ends so far with them.
  MatrixXd gain_covariance_, cross_covariance_;
  bool refitted_ = false;
};

}  // namespace

bool PredictEnds(const std::vector<RungValues>& values, const MatrixXd& features, size_t rungs,
                 std::vector<GainFit>& gains, Ends& ends) {
  Predictor predictor(values, features, gains, ends);
  for (size_t k = 1; k < rungs; ++k) predictor.StepTo(k);
  return predictor.refitted();
}

}  // namespace winnow
