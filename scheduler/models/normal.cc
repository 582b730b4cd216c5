#include "scheduler/models/normal.h"

#include <cmath>
#include <numbers>

namespace winnow {

double NormalDensity(double z) {
  return std::exp(-z * z / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

double NormalCdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

}  // namespace winnow
