#include "scheduler/samplers/unit_points.h"

#include <algorithm>
#include <cmath>

#include "scheduler/space/range_change.h"

namespace winnow {

using Eigen::Index;
using Eigen::VectorXd;

UnitPoints::UnitPoints(const SearchSpace& space, const SearchSpace& known)
    : space_(space),
      known_(known),
      low_(VectorXd::Zero(static_cast<Index>(space.parameters().size()))),
      high_(VectorXd::Ones(static_cast<Index>(space.parameters().size()))),
      kept_(space.parameters().size()) {
  for (const Parameter& parameter : known.parameters()) {
    const int64_t count = ValueCount(parameter.range);
    const auto* categories = std::get_if<CategoricalRange>(&parameter.range);
    const bool numeric = categories == nullptr || categories->ordered;
    columns_.push_back({numeric ? 0 : static_cast<int>(count), parameter.condition.has_value()});
    values_.push_back(count);
  }
  for (size_t j = 0; j < columns_.size(); ++j) {
    const Range& range = space.parameters()[j].range;
    const Range& whole = known.parameters()[j].range;
    if (range == whole) continue;
    const SearchSpace axis({{"", whole}});
    std::vector<double> places;
    for (const Value& value : ValuesOf(range)) {
      const double unit = axis.ToUnit({value})[0];
      const int categories = columns_[j].categories;
      places.push_back(categories > 0 ? std::floor(unit * categories) : unit);
    }
    std::sort(places.begin(), places.end());
    low_[static_cast<Index>(j)] = places.front();
    high_[static_cast<Index>(j)] = places.back();
    if (IsListed(range)) kept_[j] = std::move(places);
  }
}

double UnitPoints::Inside(size_t parameter, double at) const {
  const std::vector<double>& kept = kept_[parameter];
  if (kept.empty()) {
    if (columns_[parameter].categories > 0) return at;
    const auto j = static_cast<Index>(parameter);
    return std::clamp(at, low_[j], high_[j]);
  }
  return *std::min_element(kept.begin(), kept.end(),
                           [at](double a, double b) { return std::abs(a - at) < std::abs(b - at); });
}

double UnitPoints::Place(Index parameter, double u) const {
  const auto j = static_cast<size_t>(parameter);
  if (columns_[j].categories == 0) return low_[parameter] + u * (high_[parameter] - low_[parameter]);
  if (kept_[j].empty()) return std::floor(u * columns_[j].categories);
  return kept_[j][static_cast<size_t>(u * static_cast<double>(kept_[j].size()))];
}

VectorXd UnitPoints::PointOf(const Configuration& configuration) const {
  const std::vector<double> unit = known_.ToUnit(configuration);
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
    const double at = Inside(j, point[static_cast<Index>(j)]);
    unit[j] = columns_[j].categories > 0 ? (at + 0.5) / columns_[j].categories : at;
  }
  Configuration configuration = known_.FromUnit(unit);
  if (&space_ == &known_) return configuration;
  // The ends of a range lie a rounding beside their coordinates.
  for (size_t j = 0; j < unit.size(); ++j) {
    const Range& range = space_.parameters()[j].range;
    const bool listed = IsListed(range) || std::holds_alternative<Inactive>(configuration[j]);
    if (!listed) configuration[j] = NearestIn(range, configuration[j]);
  }
  return configuration;
}

Eigen::MatrixXd RowsOf(const std::vector<VectorXd>& points) {
  Eigen::MatrixXd rows(static_cast<Index>(points.size()), points.empty() ? 0 : points[0].size());
  for (size_t i = 0; i < points.size(); ++i) rows.row(static_cast<Index>(i)) = points[i].transpose();
  return rows;
}

}  // namespace winnow
