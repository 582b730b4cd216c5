#include "scheduler/models/feature_map.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace winnow {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kMiddle = 0.5;
// Powers of 0 and their derivatives need not be finite.
constexpr double kEdge = 1e-7;

struct Warped {
  double value, by_x, by_log_a, by_log_b;
};

Warped Kumaraswamy(double x, double a, double b) {
  x = std::clamp(x, kEdge, 1 - kEdge);
  const double power = std::pow(x, a);
  const double rest = 1 - power;
  const double tail = std::pow(rest, b);
  const double slope = b * tail / rest * power;  // by log(power)
  return {1 - tail, slope * a / x, slope * a * std::log(x), -tail * b * std::log(rest)};
}

}  // namespace

FeatureMap::FeatureMap(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (size_t c = 0; c < columns_.size(); ++c) {
    first_.push_back(features());
    const int axes = std::max(1, columns_[c].categories) + (columns_[c].conditional ? 1 : 0);
    column_of_.insert(column_of_.end(), static_cast<size_t>(axes), static_cast<Index>(c));
  }
}

MatrixXd FeatureMap::Map(const MatrixXd& points, const Warping& warping) const {
  MatrixXd mapped = MatrixXd::Zero(points.rows(), features());
  for (Index c = 0; c < static_cast<Index>(columns_.size()); ++c) {
    const Column& column = columns_[c];
    const double scale = 1 / warping.length[c];
    const double step = scale / std::numbers::sqrt2;  // two categories differ on two axes
    const bool straight = warping.a[c] == 1 && warping.b[c] == 1;
    for (Index i = 0; i < points.rows(); ++i) {
      const double x = points(i, c);
      const bool active = !std::isnan(x);
      if (column.categories > 0) {
        if (active) mapped(i, first_[c] + static_cast<Index>(x)) = step;
      } else if (!active) {
        mapped(i, first_[c]) = scale * kMiddle;
      } else {
        mapped(i, first_[c]) = scale * (straight ? x : Kumaraswamy(x, warping.a[c], warping.b[c]).value);
      }
      if (!active) mapped(i, first_[c] + std::max(1, column.categories)) = scale;
    }
  }
  return mapped;
}

Warping FeatureMap::Gradient(const MatrixXd& points, const Warping& warping, const MatrixXd& mapped,
                             const MatrixXd& by_feature, bool warps) const {
  const auto count = static_cast<Index>(columns_.size());
  Warping gradient{VectorXd::Zero(count), VectorXd::Zero(count), VectorXd::Zero(count)};
  for (Index f = 0; f < features(); ++f) {
    gradient.length[column_of_[f]] -= by_feature.col(f).dot(mapped.col(f));
  }
  for (Index c = 0; warps && c < count; ++c) {
    if (columns_[c].categories > 0) continue;
    for (Index i = 0; i < points.rows(); ++i) {
      if (std::isnan(points(i, c))) continue;
      const Warped warped = Kumaraswamy(points(i, c), warping.a[c], warping.b[c]);
      const double weight = by_feature(i, first_[c]) / warping.length[c];
      gradient.a[c] += weight * warped.by_log_a;
      gradient.b[c] += weight * warped.by_log_b;
    }
  }
  return gradient;
}

VectorXd FeatureMap::PointGradient(const VectorXd& point, const Warping& warping,
                                   const VectorXd& by_feature) const {
  VectorXd gradient = VectorXd::Zero(point.size());
  for (Index c = 0; c < point.size(); ++c) {
    if (columns_[c].categories > 0 || std::isnan(point[c])) continue;
    const bool straight = warping.a[c] == 1 && warping.b[c] == 1;
    const double slope = straight ? 1 : Kumaraswamy(point[c], warping.a[c], warping.b[c]).by_x;
    gradient[c] = by_feature[first_[c]] * slope / warping.length[c];
  }
  return gradient;
}

}  // namespace winnow
