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

// Priors of the logarithms of GainFit's numbers (mean as its defaults), and bounds.
constexpr double kAlikeSpread = 1.5, kByCurveSpread = 1.5, kLengthSpread = 1, kRestSpread = 2;
constexpr double kLogLeast = -16.1, kLogMost = 1.5;
constexpr int kRounds = 4;  // of a search with steps of the same width

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

// Where a trial's curve is before the step: its value, and its gain to there.
Eigen::RowVector2d PlaceOf(const RungValues& trial, size_t k) {
  return {trial.at[k - 1], k == 1 ? 0 : trial.at[k - 1] - trial.at[k - 2]};
}

// Trials before a step, a row each.
struct Before {
  MatrixXd own;       // their features
  MatrixXd features;  // of their configurations
  MatrixXd places;    // of their curves
};

MatrixXd Covariance(const Before& left, const Before& right, const StepPrior& prior, const GainFit& gain) {
  return left.own * prior.variance.asDiagonal() * right.own.transpose() +
         gain.alike * Matern::Values(left.features, right.features) +
         gain.by_curve * Matern::Values(left.places / gain.length, right.places / gain.length);
}

// The diagonal of the covariance of trials with themselves.
VectorXd Variances(const Before& before, const StepPrior& prior, const GainFit& gain) {
  return (before.own.array().square().matrix() * prior.variance).array() + gain.alike + gain.by_curve;
}

// One step, seen on the trials that have made it.
struct Step {
  Before before;
  VectorXd gains;
  StepPrior prior;

  VectorXd Centred() const { return gains - before.own * prior.mean; }
};

// The mode of the posterior density of a fit's logarithms, by a search along each of them.
GainFit FitGain(const Step& step) {
  const GainFit usual;
  using Logs = Eigen::Array4d;
  const Logs centre = Logs(usual.alike, usual.by_curve, usual.length, usual.rest).log();
  const Logs spread(kAlikeSpread, kByCurveSpread, kLengthSpread, kRestSpread);
  const auto fit_at = [&](const Logs& logs) {
    const Logs at = logs.exp();
    return GainFit{step.gains.size(), at[0], at[1], at[2], at[3]};
  };
  const VectorXd centred = step.Centred();
  const auto minus_log_density = [&](const Logs& logs) {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    if (logs.maxCoeff() > kLogMost || logs[3] < kLogLeast) return kNone;
    const GainFit fit = fit_at(logs);
    MatrixXd covariance = Covariance(step.before, step.before, step.prior, fit);
    covariance.diagonal().array() += fit.rest;
    const Eigen::LLT<MatrixXd> factor(covariance);
    if (factor.info() != Eigen::Success) return kNone;
    const VectorXd solved = factor.matrixL().solve(centred);
    return solved.squaredNorm() / 2 + factor.matrixLLT().diagonal().array().log().sum() +
           ((logs - centre) / spread).square().sum() / 2;
  };
  Logs best = centre;
  double least = minus_log_density(best);
  for (const double width : {2.0, 1.0, 0.5}) {
    for (int round = 0; round < kRounds; ++round) {
      const double before = least;
      for (Index i = 0; i < best.size(); ++i) {
        for (const double move : {-width, width}) {
          Logs moved = best;
          moved[i] += move;
          const double density = minus_log_density(moved);
          if (density >= least) continue;
          least = density;
          best = moved;
          break;
        }
      }
      if (least == before) break;
    }
  }
  return fit_at(best);
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
    ends_.variances = last_gain_ = gain_variances_ = cross_covariances_ = VectorXd::Zero(count);
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
    Step step{{MatrixXd(count, FeatureCount(k)), Rows(features_, made), MatrixXd(count, 2)},
              VectorXd(count),
              StepPriorOf(k)};
    for (Index i = 0; i < count; ++i) {
      const RungValues& trial = Of(made[static_cast<size_t>(i)]);
      step.before.own.row(i) = OwnFeatures(trial, k).transpose();
      step.before.places.row(i) = PlaceOf(trial, k);
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
    const Eigen::ArrayXd gain = step.before.own.col(1).array().abs() + 1e-6;
    const double count = static_cast<double>(gain.size()) + 1;
    const auto parts = [&](Index column, double prior, double& mean, double& variance) {
      const Eigen::ArrayXd part = step.before.own.col(column).array() / gain;
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
  Before BeforeOf(const Usual& usual, const std::vector<Index>& to_make, size_t k) const {
    const auto count = static_cast<Index>(to_make.size());
    Before before{MatrixXd(count, FeatureCount(k)), Rows(features_, to_make), MatrixXd(count, 2)};
    for (Index i = 0; i < count; ++i) {
      const Index trial = to_make[static_cast<size_t>(i)];
      if (Reached(trial) == k) {
        before.own.row(i) = OwnFeatures(Of(trial), k).transpose();
        before.places.row(i) = PlaceOf(Of(trial), k);
      } else {
        const double gain = last_gain_[trial];
        before.own.row(i) << 1, gain * Eigen::RowVector3d(1, usual.newest, usual.shrinks);
        before.places.row(i) << ends_.means[trial], gain;
      }
    }
    return before;
  }

  void CarryOn(const Step& step, const GainFit& gain, const std::vector<Index>& to_make, size_t k) {
    const Usual usual = k > 1 ? UsualOf(step) : Usual();
    const Before before = BeforeOf(usual, to_make, k);
    const MatrixXd& own = before.own;
    VectorXd mean = own * step.prior.mean;
    VectorXd variances = Variances(before, step.prior, gain);
    VectorXd slopes = step.prior.mean;
    double grows = 0;  // a gain with the gain before it: an error made so far goes on with it
    if (step.gains.size() > 0) {
      MatrixXd seen = Covariance(step.before, step.before, step.prior, gain);
      seen.diagonal().array() += gain.rest;
      const Eigen::LLT<MatrixXd> factor(seen);
      const MatrixXd cross = Covariance(step.before, before, step.prior, gain);
      const VectorXd solved = factor.solve(step.Centred());
      mean += cross.transpose() * solved;
      const MatrixXd half = factor.matrixL().solve(cross);
      variances -= half.colwise().squaredNorm().transpose();
      slopes += step.prior.variance.cwiseProduct(step.before.own.transpose() * solved);
    }
    if (k > 1) {
      // Where features are only the usual ones, what they vary by is a further error.
      grows = slopes[1] + slopes[2] * usual.newest + slopes[3] * usual.shrinks;
      const double by_part =
          slopes[2] * slopes[2] * usual.newest_variance + slopes[3] * slopes[3] * usual.shrinks_variance;
      for (Index i = 0; i < own.rows(); ++i) {
        if (Reached(to_make[static_cast<size_t>(i)]) < k) variances[i] += by_part * own(i, 1) * own(i, 1);
      }
    }

    constexpr double kMostGrowth = 0.8;
    // The newest gain's error goes on in the next one: gain' = growth * gain + error, end' = end + gain'.
    for (Index i = 0; i < mean.size(); ++i) {
      const Index trial = to_make[static_cast<size_t>(i)];
      const double growth = Reached(trial) < k ? std::clamp(grows, 0.0, kMostGrowth) : 0;
      const double carried = growth * cross_covariances_[trial];
      gain_variances_[trial] =
          growth * growth * gain_variances_[trial] + std::max(0.0, variances[i]) + gain.rest;
      ends_.variances[trial] += 2 * carried + gain_variances_[trial];
      cross_covariances_[trial] = carried + gain_variances_[trial];
      ends_.means[trial] += mean[i];
      last_gain_[trial] = mean[i];
    }
  }

  const std::vector<RungValues>& values_;
  const MatrixXd& features_;
  std::vector<GainFit>& gains_;
  Ends& ends_;
  VectorXd last_gain_;  // predicted
  // Errors of the last gains: their variances, and their covariances with the errors of the ends so far.
  VectorXd gain_variances_, cross_covariances_;
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
