#include "scheduler/models/kernel_density.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduler/models/normal.h"

namespace winnow {
namespace {

// Width of the widest kernel, before the number of points narrows it.
constexpr double kWidest = 0.1;

// The chance of a category's kernel to give another category: as if each had been seen once more, in all n
// points.
double Elsewhere(int categories, Eigen::Index points) {
  return static_cast<double>(categories - 1) / static_cast<double>(points + categories);
}

}  // namespace

KernelDensity::KernelDensity(std::vector<DensityAxis> axes, Eigen::MatrixXd points)
    : axes_(std::move(axes)), points_(std::move(points)) {
  const auto dimensions = static_cast<Eigen::Index>(axes_.size());
  const Eigen::Index count = points_.cols();
  bandwidths_.resize(dimensions);
  log_peaks_.resize(dimensions, count);
  // The rate at which the best bandwidth falls with the number of points (Scott 1992).
  const double narrowing = std::pow(static_cast<double>(std::max<Eigen::Index>(1, count)),
                                    -1.0 / static_cast<double>(dimensions + 4));
  for (Eigen::Index j = 0; j < dimensions; ++j) {
    const DensityAxis& axis = axes_[j];
    bandwidths_[j] = std::max(axis.least_bandwidth, kWidest * narrowing);
    for (Eigen::Index i = 0; i < count; ++i) {
      const double h = bandwidths_[j];
      log_peaks_(j, i) = axis.categories > 0
                             ? std::log1p(-Elsewhere(axis.categories, count))
                             : std::log(NormalDensity(0) / (h * NormalInside(points_(j, i), h)));
    }
  }
}

double KernelDensity::LogKernel(Eigen::Index axis, Eigen::Index point, double at) const {
  const double middle = points_(axis, point);
  const int categories = axes_[axis].categories;
  if (std::isnan(middle)) return categories > 0 ? -std::log(categories) : 0;
  if (categories == 0) {
    const double z = (at - middle) / bandwidths_[axis];
    return log_peaks_(axis, point) - z * z / 2;
  }
  if (at == middle) return log_peaks_(axis, point);
  return std::log(Elsewhere(categories, points_.cols()) / (categories - 1));
}

double KernelDensity::LogDensity(const Eigen::VectorXd& point) const {
  std::vector<double> terms(static_cast<size_t>(points_.cols()) + 1, 0.0);
  for (Eigen::Index j = 0; j < point.size(); ++j) {
    if (std::isnan(point[j])) continue;
    if (axes_[j].categories > 0) terms.back() -= std::log(axes_[j].categories);
    for (Eigen::Index i = 0; i < points_.cols(); ++i) terms[i] += LogKernel(j, i, point[j]);
  }
  const double most = *std::max_element(terms.begin(), terms.end());
  double sum = 0;
  for (double term : terms) sum += std::exp(term - most);
  return most + std::log(sum / static_cast<double>(terms.size()));
}

Eigen::VectorXd KernelDensity::Draw(const std::function<double()>& uniform) const {
  const Eigen::Index count = points_.cols();
  // The last one is the uniform density.
  const auto chosen = static_cast<Eigen::Index>(uniform() * static_cast<double>(count + 1));
  Eigen::VectorXd drawn(static_cast<Eigen::Index>(axes_.size()));
  for (Eigen::Index j = 0; j < drawn.size(); ++j) {
    const double middle = chosen < count ? points_(j, chosen) : std::numeric_limits<double>::quiet_NaN();
    const double u = uniform();
    const int categories = axes_[j].categories;
    if (categories > 0) {
      const double elsewhere = std::isnan(middle) ? 1 : Elsewhere(categories, count);
      const double other = std::floor(uniform() * (std::isnan(middle) ? categories : categories - 1));
      drawn[j] = u < elsewhere ? (other >= middle ? other + 1 : other) : middle;
      continue;
    }
    if (std::isnan(middle)) {
      drawn[j] = u;
      continue;
    }
    drawn[j] = TruncatedNormalQuantile(middle, bandwidths_[j], u);
  }
  return drawn;
}

}  // namespace winnow
