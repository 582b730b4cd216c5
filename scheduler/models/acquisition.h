#pragma once

#include "scheduler/models/gaussian_process.h"

namespace winnow {

struct Acquisition {
  double value = 0;
  Eigen::VectorXd gradient;
};

// density(z) + z * cdf(z) of the standard normal distribution, with all digits down to where it underflows.
double ImprovementOf(double z);
// Its logarithm, without underflow for z down to -1e100.
double LogImprovement(double z);
// Its derivative by z.
double LogImprovementSlope(double z);

// The logarithm of the standard normal distribution function, without underflow, and its derivative.
double LogNormalCdf(double z);
double LogNormalCdfSlope(double z);

// The logarithm of the expected improvement over `best` of a normal variable, maximising (Ament et al. 2023,
// Unexpected Improvements to Expected Improvement, equation 8). A variance of 0 counts as a very small one.
double LogExpectedImprovement(const Prediction& prediction, double best);

// The same at a point of a Gaussian process, with its gradient by the point.
Acquisition LogExpectedImprovement(const GaussianProcess& process, const Eigen::VectorXd& point, double best);

}  // namespace winnow
