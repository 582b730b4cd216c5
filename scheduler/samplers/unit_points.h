#pragma once

#include <Eigen/Core>
#include <vector>

#include "scheduler/models/feature_map.h"
#include "scheduler/space/space.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// Maps configurations to points for models, with one coordinate per parameter: a place on the unit interval
// for numbers and ordered categories, the index of the category for others, kInactive for an inactive
// parameter.
//
// The coordinates may be those of a wider space, `known`, in which the points of trials lie that are not of
// the space any more. What may be tried is then a box in it: numbers from low to high, and some of the
// categories.
class UnitPoints {
 public:
  // `space` has to outlive it.
  explicit UnitPoints(const SearchSpace& space) : UnitPoints(space, space) {}
  // REQUIRES `known` has every value of `space`. Both have to outlive it.
  UnitPoints(const SearchSpace& space, const SearchSpace& known);
  // In JobState::known_space. The state has to outlive it.
  explicit UnitPoints(const JobState& state) : UnitPoints(state.space(), state.known_space()) {}

  const SearchSpace& known() const { return known_; }
  const std::vector<Column>& columns() const { return columns_; }
  // How many values the parameter has; 0: any number, or too many to count.
  int64_t values(size_t parameter) const { return values_[parameter]; }

  // The ends of what may be tried: 0 and 1 unless a range is narrower than the known one.
  const Eigen::VectorXd& low() const { return low_; }
  const Eigen::VectorXd& high() const { return high_; }
  // A coordinate of what may be tried, from a uniform number in [0, 1).
  double Place(Eigen::Index parameter, double u) const;

  Eigen::VectorXd PointOf(const Configuration& configuration) const;

  // From coordinates that are all active; parameters whose condition does not hold become Inactive, and
  // values that may not be tried the nearest that may. Constraints may be broken.
  Configuration ConfigurationOf(const Eigen::VectorXd& point) const;

 private:
  // The nearest coordinate that may be tried.
  double Inside(size_t parameter, double at) const;

  const SearchSpace& space_;
  const SearchSpace& known_;
  Eigen::VectorXd low_, high_;
  // The coordinates that may be tried, rising, of a parameter with listed values of which some may not; empty
  // for others.
  std::vector<std::vector<double>> kept_;
  std::vector<Column> columns_;
  std::vector<int64_t> values_;
};

// Points as the rows of a matrix. REQUIRES points of the same length.
Eigen::MatrixXd RowsOf(const std::vector<Eigen::VectorXd>& points);

}  // namespace winnow
