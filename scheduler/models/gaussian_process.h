#pragma once

#include <Eigen/Core>
#include <utility>

#include "scheduler/models/feature_map.h"

namespace winnow {

// What is known of a function: its values at the rows of `points`, each with the variance of its own error,
// which comes on top of the noise that all share.
struct Observations {
  Eigen::MatrixXd points;
  Eigen::VectorXd values;
  Eigen::VectorXd variances;
  Eigen::MatrixXd covariance;  // of further errors that observations have in common; empty: none

  Eigen::Index count() const { return values.size(); }
};

struct Hyperparameters {
  Warping warping;
  double signal = 1;  // the function's variance
  double noise = 0;   // the variance of the error that all observations share
  double mean = 0;    // far from every observation
};

struct Prediction {
  double mean = 0;
  double variance = 0;  // of the function itself, without noise; never negative
};

// A function as a random one with a Matérn-5/2 kernel, given observations of it (Rasmussen and Williams 2006,
// algorithm 2.1). Values of about unit spread are expected. The same inputs give the same bits.
class GaussianProcess {
 public:
  // O(n^3). REQUIRES finite values, and as many columns of points as the map has.
  GaussianProcess(FeatureMap map, Hyperparameters hyperparameters, const Observations& observations);

  // One observation more: O(n^2), and the same as if it had been there from the start. A variance of minus
  // the noise that all share makes it exact.
  void Append(const Eigen::VectorXd& point, double value, double variance);

  Prediction Predict(const Eigen::VectorXd& point) const;

  // Adds the gradients by the point's coordinates; those of categorical and inactive ones are 0.
  Prediction Predict(const Eigen::VectorXd& point, Eigen::VectorXd& mean_gradient,
                     Eigen::VectorXd& variance_gradient) const;

  // For every row of `points`: means and variances.
  std::pair<Eigen::VectorXd, Eigen::VectorXd> PredictAll(const Eigen::MatrixXd& points) const;

  // The means alone: O(n) a row.
  Eigen::VectorXd Means(const Eigen::MatrixXd& points) const;

  const FeatureMap& map() const { return map_; }
  const Hyperparameters& hyperparameters() const { return hyperparameters_; }
  Eigen::Index count() const { return centred_.size(); }

 private:
  FeatureMap map_;
  Hyperparameters hyperparameters_;
  Eigen::MatrixXd mapped_;  // the observed points' features
  Eigen::VectorXd centred_;
  Eigen::MatrixXd factor_;   // lower Cholesky factor of the covariance of the observations
  Eigen::VectorXd weights_;  // covariance^-1 * centred
};

// The lower Cholesky factor of a covariance matrix. Where rounding makes it indefinite, as much as it takes
// is added to the diagonal. The identity for one that is not finite, or zero.
Eigen::MatrixXd CholeskyFactor(Eigen::MatrixXd covariance);

}  // namespace winnow
