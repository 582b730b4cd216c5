#pragma once

#include <Eigen/Core>
#include <vector>

#include "scheduler/models/feature_map.h"
#include "scheduler/space/space.h"

namespace winnow {

// Maps configurations to points for models, with one coordinate per parameter: a place on the unit interval
// for numbers and ordered categories, the index of the category for others, kInactive for an inactive
// parameter.
class UnitPoints {
 public:
  // `space` has to outlive it.
  explicit UnitPoints(const SearchSpace& space);

  const std::vector<Column>& columns() const { return columns_; }
  // How many values the parameter has; 0: any number, or too many to count.
  int64_t values(size_t parameter) const { return values_[parameter]; }

  Eigen::VectorXd PointOf(const Configuration& configuration) const;

  // From coordinates that are all active; parameters whose condition does not hold become Inactive.
  // Constraints may be broken.
  Configuration ConfigurationOf(const Eigen::VectorXd& point) const;

 private:
  const SearchSpace& space_;
  std::vector<Column> columns_;
  std::vector<int64_t> values_;
};

// Points as the rows of a matrix. REQUIRES points of the same length.
Eigen::MatrixXd RowsOf(const std::vector<Eigen::VectorXd>& points);

}  // namespace winnow
