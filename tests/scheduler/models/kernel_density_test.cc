#include "scheduler/models/kernel_density.h"

#include <cmath>

#include "scheduler/space/random.h"
#include "tests/catch.h"

namespace winnow {
namespace {

// A number, a category of three, and a number that the second point does not have.
KernelDensity TwoPoints() {
  Eigen::MatrixXd points(3, 2);
  points << 0.1, 0.9,  //
      0, 2,            //
      0.05, NAN;
  return KernelDensity({{0, 0}, {3, 0}, {0, 0}}, points);
}

Eigen::VectorXd Point(double a, double b, double c) { return Eigen::Vector3d(a, b, c); }

TEST_CASE("Kernel density: sums to one over numbers and categories", "[scheduler]") {
  const KernelDensity density = TwoPoints();
  constexpr int kSteps = 100;
  double sum = 0, without_third = 0;
  for (int a = 0; a < kSteps; ++a) {
    for (int b = 0; b < 3; ++b) {
      without_third += std::exp(density.LogDensity(Point((a + 0.5) / kSteps, b, NAN))) / kSteps;
      for (int c = 0; c < kSteps; ++c) {
        sum += std::exp(density.LogDensity(Point((a + 0.5) / kSteps, b, (c + 0.5) / kSteps))) /
               (kSteps * kSteps);
      }
    }
  }
  CHECK(sum == Approx(1).epsilon(0.001));
  CHECK(without_third == Approx(1).epsilon(0.001));
}

TEST_CASE("Kernel density: of no points it is uniform", "[scheduler]") {
  const KernelDensity density({{0, 0}, {4, 0}}, Eigen::MatrixXd(2, 0));
  CHECK(density.LogDensity(Eigen::Vector2d(0.3, 1)) == Approx(std::log(0.25)));
  CHECK(density.LogDensity(Eigen::Vector2d(0.8, 3)) == Approx(std::log(0.25)));
}

TEST_CASE("Kernel density: sees that coordinates depend on each other", "[scheduler]") {
  Eigen::MatrixXd points(2, 4);
  points << 0.2, 0.25, 0.8, 0.75,  //
      0.2, 0.25, 0.8, 0.75;
  const KernelDensity density({{0, 0}, {0, 0}}, points);
  CHECK(density.LogDensity(Eigen::Vector2d(0.2, 0.2)) > density.LogDensity(Eigen::Vector2d(0.2, 0.8)) + 1);
}

TEST_CASE("Kernel density: draws are spread as the density says", "[scheduler]") {
  const KernelDensity density = TwoPoints();
  uint64_t index = 0;
  const auto uniform = [&index] { return RandomUnit(5, 1, Purpose::kModel, ++index); };
  constexpr int kDraws = 40'000, kCells = 10;
  std::vector<double> drawn(kCells * 3), expected(kCells * 3);
  for (int draw = 0; draw < kDraws; ++draw) {
    const Eigen::VectorXd point = density.Draw(uniform);
    REQUIRE((point.minCoeff() >= 0 && point[0] <= 1 && point[1] <= 2 && point[2] <= 1));
    drawn[static_cast<size_t>(std::min(kCells - 1.0, std::floor(point[0] * kCells)) * 3 + point[1])] += 1;
  }
  for (int a = 0; a < 1000; ++a) {
    for (int b = 0; b < 3; ++b) {
      expected[static_cast<size_t>(a / 100 * 3 + b)] +=
          kDraws * std::exp(density.LogDensity(Point((a + 0.5) / 1000, b, NAN))) / 1000;
    }
  }
  for (size_t cell = 0; cell < drawn.size(); ++cell) {
    CHECK(std::abs(drawn[cell] - expected[cell]) < 5 * std::sqrt(expected[cell]));
  }
}

}  // namespace
}  // namespace winnow
