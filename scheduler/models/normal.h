#pragma once

namespace winnow {

// The standard normal distribution.
double NormalDensity(double z);
double NormalCdf(double z);

}  // namespace winnow
