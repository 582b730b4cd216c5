#pragma once

#include <Eigen/Core>

namespace winnow {

// The Matérn kernel of smoothness 5/2 (Rasmussen and Williams 2006, equation 4.17) as a function of squared
// distances; both are symmetric in the rows of the same matrix.
struct Matern {
  Eigen::MatrixXd value;  // 1 at distance 0
  Eigen::MatrixXd slope;  // its derivative by the squared distance

  // Between the rows of `left` and the rows of `right`.
  static Matern Between(const Eigen::MatrixXd& left, const Eigen::MatrixXd& right);
  // Between the same rows. Only the lower triangles are right.
  static Matern LowerWithin(const Eigen::MatrixXd& rows);
  // The value alone, which is cheaper.
  static Eigen::MatrixXd Values(const Eigen::MatrixXd& left, const Eigen::MatrixXd& right);
};

}  // namespace winnow
