#include "scheduler/models/gaussian_process.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "scheduler/models/matern.h"

namespace winnow {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd CholeskyFactor(MatrixXd covariance) {
  // Parts of the mean of the diagonal. The most makes any matrix of finite numbers dominated by its diagonal.
  constexpr double kFirstJitter = 1e-10, kMostJitter = 1e10;
  const double scale = covariance.diagonal().cwiseAbs().mean();
  double jitter = 0;
  while (jitter <= kMostJitter * scale) {
    const Eigen::LLT<MatrixXd> factorised(covariance);
    if (factorised.info() == Eigen::Success) return factorised.matrixL();
    const double more = jitter == 0 ? kFirstJitter * scale : 9 * jitter;
    if (!(more > 0)) break;
    covariance.diagonal().array() += more;
    jitter += more;
  }
  return MatrixXd::Identity(covariance.rows(), covariance.cols());
}

GaussianProcess::GaussianProcess(FeatureMap map, Hyperparameters hyperparameters,
                                 const Observations& observations)
    : map_(std::move(map)), hyperparameters_(std::move(hyperparameters)) {
  mapped_ = map_.Map(observations.points, hyperparameters_.warping);
  centred_ = observations.values.array() - hyperparameters_.mean;
  MatrixXd covariance = hyperparameters_.signal * Matern::Values(mapped_, mapped_);
  covariance.diagonal().array() += hyperparameters_.noise + observations.variances.array();
  if (observations.covariance.size() > 0) covariance += observations.covariance;
  factor_ = CholeskyFactor(std::move(covariance));
  weights_ = centred_;
  factor_.triangularView<Eigen::Lower>().solveInPlace(weights_);
  factor_.triangularView<Eigen::Lower>().transpose().solveInPlace(weights_);
}

void GaussianProcess::Append(const VectorXd& point, double value, double variance) {
  const MatrixXd feature = map_.Map(point.transpose(), hyperparameters_.warping);
  const Index n = count();
  VectorXd row = hyperparameters_.signal * Matern::Values(mapped_, feature).col(0);
  factor_.triangularView<Eigen::Lower>().solveInPlace(row);
  const double own = hyperparameters_.signal + hyperparameters_.noise + variance;
  // A copy of an exact observation leaves nothing; the floor keeps the factor regular.
  constexpr double kLeastRest = 1e-10;
  const double rest = std::max(own - row.squaredNorm(), kLeastRest * own);

  factor_.conservativeResize(n + 1, n + 1);
  factor_.col(n).setZero();
  factor_.row(n).head(n) = row.transpose();
  factor_(n, n) = std::sqrt(rest);
  mapped_.conservativeResize(n + 1, Eigen::NoChange);
  mapped_.row(n) = feature.row(0);
  centred_.conservativeResize(n + 1);
  centred_[n] = value - hyperparameters_.mean;
  weights_ = centred_;
  factor_.triangularView<Eigen::Lower>().solveInPlace(weights_);
  factor_.triangularView<Eigen::Lower>().transpose().solveInPlace(weights_);
}

Prediction GaussianProcess::Predict(const VectorXd& point) const {
  const auto [means, variances] = PredictAll(point.transpose());
  return {means[0], variances[0]};
}

Prediction GaussianProcess::Predict(const VectorXd& point, VectorXd& mean_gradient,
                                    VectorXd& variance_gradient) const {
  const MatrixXd feature = map_.Map(point.transpose(), hyperparameters_.warping);
  const Matern matern = Matern::Between(mapped_, feature);
  const VectorXd covariance = hyperparameters_.signal * matern.value.col(0);
  VectorXd solved = covariance;
  factor_.triangularView<Eigen::Lower>().solveInPlace(solved);
  Prediction prediction;
  prediction.mean = hyperparameters_.mean + covariance.dot(weights_);
  prediction.variance = std::max(0.0, hyperparameters_.signal - solved.squaredNorm());
  factor_.triangularView<Eigen::Lower>().transpose().solveInPlace(solved);

  // d(squared distance)/d(feature) = 2 (feature - observed feature).
  const VectorXd slope = 2 * hyperparameters_.signal * matern.slope.col(0);
  const auto chain = [&](const VectorXd& by_covariance) -> VectorXd {
    const VectorXd weight = by_covariance.cwiseProduct(slope);
    const VectorXd by_feature = feature.row(0).transpose() * weight.sum() - mapped_.transpose() * weight;
    return map_.PointGradient(point, hyperparameters_.warping, by_feature);
  };
  mean_gradient = chain(weights_);
  variance_gradient = chain(-2 * solved);
  return prediction;
}

VectorXd GaussianProcess::Means(const MatrixXd& points) const {
  const MatrixXd features = map_.Map(points, hyperparameters_.warping);
  const MatrixXd covariance = hyperparameters_.signal * Matern::Values(mapped_, features);
  return (covariance.transpose() * weights_).array() + hyperparameters_.mean;
}

std::pair<VectorXd, VectorXd> GaussianProcess::PredictAll(const MatrixXd& points) const {
  const MatrixXd features = map_.Map(points, hyperparameters_.warping);
  MatrixXd covariance = hyperparameters_.signal * Matern::Values(mapped_, features);
  VectorXd means = (covariance.transpose() * weights_).array() + hyperparameters_.mean;
  factor_.triangularView<Eigen::Lower>().solveInPlace(covariance);
  VectorXd variances =
      (hyperparameters_.signal - covariance.colwise().squaredNorm().transpose().array()).max(0);
  return {std::move(means), std::move(variances)};
}

}  // namespace winnow
