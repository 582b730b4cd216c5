#pragma once

namespace winnow {

// The standard normal distribution.
double NormalDensity(double z);
double NormalCdf(double z);

// The chance of a normal variable to fall into [0, 1].
double NormalInside(double mean, double deviation);
// The value below which a normal variable truncated to [0, 1] falls with chance `u`.
double TruncatedNormalQuantile(double mean, double deviation, double u);

}  // namespace winnow
