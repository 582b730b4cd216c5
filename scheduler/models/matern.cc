#include "scheduler/models/matern.h"

namespace winnow {
namespace {

using Eigen::MatrixXd;

// sqrt(5) times the distances. Rounding may leave tiny negative squares.
MatrixXd ScaledDistances(const MatrixXd& left, const MatrixXd& right) {
  MatrixXd squares = left * right.transpose() * -2;
  squares.colwise() += left.rowwise().squaredNorm();
  squares.rowwise() += right.rowwise().squaredNorm().transpose();
  return (squares.array().max(0) * 5).sqrt();
}

}  // namespace

Matern Matern::Between(const MatrixXd& left, const MatrixXd& right) {
  const MatrixXd distance = ScaledDistances(left, right);
  const Eigen::ArrayXXd decay = (-distance.array()).exp();
  const Eigen::ArrayXXd linear = (distance.array() + 1) * decay;
  return {linear + distance.array().square() / 3 * decay, linear * (-5.0 / 6)};
}

MatrixXd Matern::Values(const MatrixXd& left, const MatrixXd& right) {
  const MatrixXd distance = ScaledDistances(left, right);
  const auto r = distance.array();
  return (1 + r + r.square() / 3) * (-r).exp();
}

}  // namespace winnow
