#include "scheduler/models/output_transform.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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

// The value whose distance from 0 has log1p `log`, on the side of `a`.
double YeoJohnson(double a, double log, double power) {
  const double exponent = a >= 0 ? power : 2 - power;
  const double size = std::abs(exponent) < kSame ? log : std::expm1(exponent * log) / exponent;
  return a >= 0 ? size : -size;
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

OutputTransform::OutputTransform(const std::vector<double>& values, TransformPower power, double worthless) {
  const auto count = static_cast<double>(values.size());
  centre_ = Quantile(values, 0.5);
  unit_ = UnitOf(values, centre_);
  bad_ = std::clamp((worthless - centre_) / unit_, kBadTail, -kBadTail);
  const auto [least, most_value] = std::minmax_element(values.begin(), values.end());
  least_ = *least - kBeyond * unit_;
  most_ = *most_value + kBeyond * unit_;

  std::vector<double> near, logs, bent(values.size());
  double logs_of_sides = 0;  // how the Jacobian's logarithm grows with the power
  for (const double value : values) {
    const double a = (value - centre_) / unit_;
    near.push_back(DrawNearer(a));
    logs.push_back(std::log1p(std::abs(near.back())));
    const double log = std::log1p(std::abs(std::max(bad_, a)));
    logs_of_sides += a >= 0 ? log : -log;
  }
  const auto bend = [&] {  // to the mean and the mean square around it
    double mean = 0, squares = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      bent[i] = YeoJohnson(near[i], logs[i], power_);
      mean += bent[i] / count;
    }
    for (const double value : bent) squares += (value - mean) * (value - mean) / count;
    return std::pair(mean, squares);
  };
  double most = -std::numeric_limits<double>::infinity(), chosen = 1;
  const int steps = power == TransformPower::kOne
                        ? 0
                        : static_cast<int>(std::lround((kMostPower - kLeastPower) / kPowerStep));
  for (int step = 0; step <= steps; ++step) {
    power_ = kLeastPower + step * kPowerStep;
    const double density = -count / 2 * std::log(bend().second + kLeastSquares) +
                           (power_ - 1) * logs_of_sides - std::pow(power_ - 1, 2) / 2;
    if (density > most) {
      most = density;
      chosen = power_;
    }
  }
  power_ = chosen;
  const auto [mean, squares] = bend();
  mean_ = mean;
  if (squares > 0) spread_ = std::sqrt(squares);
}

double OutputTransform::DrawNearer(double a) const { return a < bad_ ? bad_ - std::log1p(bad_ - a) : a; }
double OutputTransform::DrawAway(double a) const { return a < bad_ ? bad_ - std::expm1(bad_ - a) : a; }

double OutputTransform::Bend(double value) const {
  const double a = DrawNearer((value - centre_) / unit_);
  return YeoJohnson(a, std::log1p(std::abs(a)), power_);
}

double OutputTransform::Inverse(double transformed) const {
  const double value = centre_ + unit_ * DrawAway(InverseYeoJohnson(transformed * spread_ + mean_, power_));
  return std::clamp(value, least_, most_);
}

}  // namespace winnow
