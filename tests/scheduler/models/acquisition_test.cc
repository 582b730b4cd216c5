#include "scheduler/models/acquisition.h"

#include <cmath>
#include <numbers>

#include "tests/catch.h"
#include "tests/scheduler/models/mixed_points.h"

namespace winnow {
namespace {

using Eigen::VectorXd;

// By its definition, in more digits than a double has.
double Reference(double z) {
  const long double wide = z;
  const long double density = std::exp(-wide * wide / 2) / std::sqrt(2 * std::numbers::pi_v<long double>);
  const long double cdf = std::erfc(-wide / std::numbers::sqrt2_v<long double>) / 2;
  return static_cast<double>(std::log(density + wide * cdf));
}

TEST_CASE("Acquisition: the logarithm of the improvement is exact on both sides of its switch",
          "[scheduler]") {
  for (const double z : {3.0, 0.0, -1.0, -4.0, -4.99, -5.0, -5.01, -6.0, -9.0}) {
    CAPTURE(z);
    CHECK(LogImprovement(z) == Approx(Reference(z)).epsilon(1e-11));
  }
  CHECK(std::abs(LogImprovement(std::nextafter(-5.0, 0.0)) - LogImprovement(-5)) < 1e-11);
  CHECK(std::abs(LogImprovementSlope(std::nextafter(-5.0, 0.0)) - LogImprovementSlope(-5)) < 1e-9);
}

TEST_CASE("Acquisition: far below the best nothing underflows", "[scheduler]") {
  for (const double z : {-1e2, -1e4, -1e7, -1e10}) {
    CAPTURE(z);
    // h(z) -> density(z) / z^2, and its logarithm falls as -z.
    const double expected = -z * z / 2 - std::log(2 * std::numbers::pi) / 2 - 2 * std::log(-z);
    CHECK(LogImprovement(z) == Approx(expected).epsilon(1e-6));
    CHECK(LogImprovementSlope(z) == Approx(-z).epsilon(1e-3));
  }
  CHECK(std::isfinite(LogExpectedImprovement({0, 0}, 1)));
  CHECK(LogExpectedImprovement({0, 1}, 40) > LogExpectedImprovement({0, 1}, 41));
}

TEST_CASE("Acquisition: its slope is that of its value", "[scheduler]") {
  for (const double z : {2.0, -0.5, -4.9, -5.1, -30.0}) {
    const double step = 1e-5;
    CHECK(LogImprovementSlope(z) ==
          Approx((LogImprovement(z + step) - LogImprovement(z - step)) / (2 * step)).epsilon(1e-6));
  }
}

TEST_CASE("Acquisition: the gradient by a point is the one of central differences", "[scheduler]") {
  const GaussianProcess process(MixedMap(), MixedHyperparameters(), MixedObservations(25, 1));
  const Eigen::MatrixXd points = MixedPoints(12, 2);
  for (Eigen::Index i = 0; i < points.rows(); ++i) {
    for (const double best : {0.5, 4.0}) {
      const VectorXd point = points.row(i);
      const Acquisition found = LogExpectedImprovement(process, point, best);
      CHECK(found.value == Approx(LogExpectedImprovement(process.Predict(point), best)).epsilon(1e-9));
      const VectorXd slopes = Slopes(
          [&](const VectorXd& at) {
            VectorXd moved = at;
            moved[2] = point[2];
            moved[3] = point[3];
            return LogExpectedImprovement(process.Predict(moved), best);
          },
          point);
      for (Eigen::Index j = 0; j < 4; ++j) CHECK(found.gradient[j] == Approx(slopes[j]).margin(1e-5));
    }
  }
}

}  // namespace
}  // namespace winnow
