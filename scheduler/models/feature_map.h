#pragma once

#include <Eigen/Core>
#include <limits>
#include <vector>

namespace winnow {

// One coordinate of a point: a number in [0, 1], or a category 0, 1, … written as a double.
struct Column {
  int categories = 0;        // 0: numeric
  bool conditional = false;  // it may be inactive in some points

  bool operator==(const Column&) const = default;
};

// What stands in a point for a coordinate that is inactive there.
inline constexpr double kInactive = std::numeric_limits<double>::quiet_NaN();

// How columns are stretched before distances are taken.
struct Warping {
  Eigen::VectorXd length;  // per column: the distance at which values decorrelate
  // Per column, the Kumaraswamy distribution 1 - (1 - x^a)^b by which a numeric one is warped; 1 is straight.
  // (Snoek et al. 2014, Input Warping, with the Beta distribution exchanged for one in closed form.)
  Eigen::VectorXd a, b;
};

// Embeds points into a Euclidean space whose squared distances are what the kernel sees: a numeric column is
// one axis, a categorical one an axis per category so that any two values are 1 / length apart (Hamming). A
// conditional column has one more axis for whether it is active; an inactive number counts as the middle, so
// that the embedding, and with it the kernel, stays positive definite.
class FeatureMap {
 public:
  explicit FeatureMap(std::vector<Column> columns);

  const std::vector<Column>& columns() const { return columns_; }
  Eigen::Index features() const { return static_cast<Eigen::Index>(column_of_.size()); }

  // One row per row of `points`.
  Eigen::MatrixXd Map(const Eigen::MatrixXd& points, const Warping& warping) const;

  // From d/d(features), the derivatives by log length, log a and log b (0 for categorical columns, and for
  // all columns unless `warps`): the chain rule summed over all points. `mapped` is Map(points, warping).
  Warping Gradient(const Eigen::MatrixXd& points, const Warping& warping, const Eigen::MatrixXd& mapped,
                   const Eigen::MatrixXd& by_feature, bool warps) const;

  // From d/d(features) of one point, the derivative by its coordinates; 0 for categorical and inactive ones.
  Eigen::VectorXd PointGradient(const Eigen::VectorXd& point, const Warping& warping,
                                const Eigen::VectorXd& by_feature) const;

 private:
  std::vector<Column> columns_;
  std::vector<Eigen::Index> first_;      // the column's first feature
  std::vector<Eigen::Index> column_of_;  // the feature's column
};

}  // namespace winnow
