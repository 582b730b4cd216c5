#include "scheduler/models/output_transform.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduler/models/quantile.h"

namespace winnow {
namespace {

constexpr double kBadTail = -8;  // units below the median: what is below is drawn nearer
// A distance from the median counts as at most so many median distances in the unit.
constexpr double kFarthest = 8;
constexpr double kBeyond = 8;  // units that Inverse goes beyond the values
// Powers that are tried. 1 is straight; the prior's spread around it is 1.
constexpr double kLeastPower = 1, kMostPower = 3, kPowerStep = 0.1;
constexpr double kSame = 1e-6;           // powers that near to 0 or 2 count as those
constexpr double kLeastSquares = 1e-12;  // of a variance, before its logarithm

double DrawNearer(double a) { return a < kBadTail ? kBadTail - std::log1p(kBadTail - a) : a; }
double DrawAway(double a) { return a < kBadTail ? kBadTail - std::expm1(kBadTail - a) : a; }

double YeoJohnson(double a, double power) {
  if (a >= 0) return std::abs(power) < kSame ? std::log1p(a) : (std::pow(1 + a, power) - 1) / power;
  const double other = 2 - power;
  return std::abs(other) < kSame ? -std::log1p(-a) : -(std::pow(1 - a, other) - 1) / other;
}

double InverseYeoJohnson(double w, double power) {
  constexpr double kEnd = 1e-9;  // the argument of a root, which has to be positive
  if (w >= 0) {
    return std::abs(power) < kSame ? std::expm1(w) : std::pow(std::max(kEnd, power * w + 1), 1 / power) - 1;
  }
  const double other = 2 - power;
  return std::abs(other) < kSame ? -std::expm1(-w) : 1 - std::pow(std::max(kEnd, 1 - other * w), 1 / other);
}

// The mean distance of the better half from the centre, or where that is 0 of the worse half, of which none
// counts as farther than kFarthest times the median distance. REQUIRES at least one value; 1 if all are
// equal.
double UnitOf(const std::vector<double>& values, double centre) {
  double better = 0, count = 0;
  std::vector<double> worse;
  for (const double value : values) {
    if (value < centre) {
      worse.push_back(centre - value);
    } else {
      better += value - centre;
      count += 1;
    }
  }
  if (better > 0) return better / count;
  if (worse.empty()) return 1;
  const double middle = Quantile(worse, 0.5);
  double mean = 0;
  for (const double distance : worse) {
    mean += std::min(distance, kFarthest * middle) / static_cast<double>(worse.size());
  }
  return mean;
}

}  // namespace

OutputTransform::OutputTransform(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  centre_ = Quantile(values, 0.5);
  unit_ = UnitOf(values, centre_);
  const auto [least, most_value] = std::minmax_element(values.begin(), values.end());
  least_ = *least - kBeyond * unit_;
  most_ = *most_value + kBeyond * unit_;

  double most = -std::numeric_limits<double>::infinity(), chosen = 1;
  const int steps = static_cast<int>(std::lround((kMostPower - kLeastPower) / kPowerStep));
  for (int step = 0; step <= steps; ++step) {
    power_ = kLeastPower + step * kPowerStep;
    double mean = 0, jacobian = 0, squares = 0;
    for (const double value : values) {
      const double a = std::max(kBadTail, (value - centre_) / unit_);
      mean += Bend(value) / count;
      jacobian += a >= 0 ? (power_ - 1) * std::log1p(a) : (1 - power_) * std::log1p(-a);
    }
    for (const double value : values) squares += std::pow(Bend(value) - mean, 2) / count;
    const double density =
        -count / 2 * std::log(squares + kLeastSquares) + jacobian - std::pow(power_ - 1, 2) / 2;
    if (density > most) {
      most = density;
      chosen = power_;
    }
  }
  power_ = chosen;
  for (const double value : values) mean_ += Bend(value) / count;
  double squares = 0;
  for (const double value : values) squares += std::pow(Bend(value) - mean_, 2) / count;
  if (squares > 0) spread_ = std::sqrt(squares);
}

double OutputTransform::Bend(double value) const {
  return YeoJohnson(DrawNearer((value - centre_) / unit_), power_);
}

double OutputTransform::Inverse(double transformed) const {
  const double value = centre_ + unit_ * DrawAway(InverseYeoJohnson(transformed * spread_ + mean_, power_));
  return std::clamp(value, least_, most_);
}

}  // namespace winnow
