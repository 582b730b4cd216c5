#include "scheduler/samplers/unit_points.h"

#include <cmath>

namespace winnow {

using Eigen::Index;
using Eigen::VectorXd;

UnitPoints::UnitPoints(const SearchSpace& space) : space_(space) {
  for (const Parameter& parameter : space.parameters()) {
    const int64_t count = ValueCount(parameter.range);
    const auto* categories = std::get_if<CategoricalRange>(&parameter.range);
    const bool numeric = categories == nullptr || categories->ordered;
    columns_.push_back({numeric ? 0 : static_cast<int>(count), parameter.condition.has_value()});
    values_.push_back(count);
  }
}

VectorXd UnitPoints::PointOf(const Configuration& configuration) const {
  const std::vector<double> unit = space_.ToUnit(configuration);
  VectorXd point(static_cast<Index>(unit.size()));
  for (size_t j = 0; j < unit.size(); ++j) {
    const int categories = columns_[j].categories;
    point[static_cast<Index>(j)] = std::holds_alternative<Inactive>(configuration[j]) ? kInactive
                                   : categories > 0 ? std::floor(unit[j] * categories)
                                                    : unit[j];
  }
  return point;
}

Configuration UnitPoints::ConfigurationOf(const VectorXd& point) const {
  std::vector<double> unit(columns_.size());
  for (size_t j = 0; j < unit.size(); ++j) {
    const double at = point[static_cast<Index>(j)];
    unit[j] = columns_[j].categories > 0 ? (at + 0.5) / columns_[j].categories : at;
  }
  return space_.FromUnit(unit);
}

Eigen::MatrixXd RowsOf(const std::vector<VectorXd>& points) {
  Eigen::MatrixXd rows(static_cast<Index>(points.size()), points.empty() ? 0 : points[0].size());
  for (size_t i = 0; i < points.size(); ++i) rows.row(static_cast<Index>(i)) = points[i].transpose();
  return rows;
}

}  // namespace winnow
