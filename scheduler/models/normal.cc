#include "scheduler/models/normal.h"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>

namespace winnow {
namespace {

double NormalQuantile(double p) { return -std::numbers::sqrt2 * boost::math::erfc_inv(2 * p); }

}  // namespace

double NormalDensity(double z) {
  return std::exp(-z * z / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

double NormalCdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

double NormalInside(double mean, double deviation) {
  return NormalCdf((1 - mean) / deviation) - NormalCdf(-mean / deviation);
}

double TruncatedNormalQuantile(double mean, double deviation, double u) {
  const double p = NormalCdf(-mean / deviation) + u * NormalInside(mean, deviation);
  return std::clamp(mean + deviation * NormalQuantile(std::clamp(p, 1e-300, 1 - 1e-16)), 0.0, 1.0);
}

}  // namespace winnow
