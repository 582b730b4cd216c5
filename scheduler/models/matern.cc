#include "scheduler/models/matern.h"

namespace winnow {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// A column at a time, so that every step finds it in the processor's nearest cache.

// sqrt(5) times the distances, from products of rows and the rows' squares. Rounding may leave tiny negative
// squares.
template <typename Products, typename Squares>
auto ScaledDistances(const Products& products, const Squares& squares, double square) {
  return ((squares + square - 2 * products).max(0) * 5).sqrt();
}

// `value` holds products of rows. `distance` is room for as many numbers.
template <typename Value, typename Slope, typename Squares>
void Fill(Value value, Slope slope, const Squares& squares, double square, Eigen::ArrayXd& distance) {
  auto r = distance.head(value.size());
  r = ScaledDistances(value, squares, square);
  value = (-r).exp();
  slope = (1 + r) * value;
  value = slope + r.square() / 3 * value;
  slope *= -5.0 / 6;
}

}  // namespace

Matern Matern::Between(const MatrixXd& left, const MatrixXd& right) {
  Matern matern{left * right.transpose(), MatrixXd(left.rows(), right.rows())};
  const VectorXd squares = left.rowwise().squaredNorm();
  Eigen::ArrayXd distance(left.rows());
  for (Index j = 0; j < right.rows(); ++j) {
    Fill(matern.value.col(j).array(), matern.slope.col(j).array(), squares.array(),
         right.row(j).squaredNorm(), distance);
  }
  return matern;
}

Matern Matern::LowerWithin(const MatrixXd& rows) {
  const Index count = rows.rows();
  Matern matern{rows * rows.transpose(), MatrixXd::Zero(count, count)};
  const VectorXd squares = matern.value.diagonal();
  Eigen::ArrayXd distance(count);
  for (Index j = 0; j < count; ++j) {
    const Index below = count - j;
    Fill(matern.value.col(j).tail(below).array(), matern.slope.col(j).tail(below).array(),
         squares.tail(below).array(), squares[j], distance);
  }
  return matern;
}

MatrixXd Matern::Values(const MatrixXd& left, const MatrixXd& right) {
  MatrixXd values = left * right.transpose();
  const VectorXd squares = left.rowwise().squaredNorm();
  for (Index j = 0; j < right.rows(); ++j) {
    auto r = values.col(j).array();
    r = ScaledDistances(r, squares.array(), right.row(j).squaredNorm());
    r = (1 + r + r.square() / 3) * (-r).exp();
  }
  return values;
}

}  // namespace winnow
