#include "scheduler/models/hypervolume_improvement.h"

#include <cmath>
#include <numbers>

#include "scheduler/models/acquisition.h"
#include "scheduler/models/hypervolume.h"
#include "scheduler/space/random.h"
#include "tests/catch.h"

namespace winnow {
namespace {

std::vector<std::vector<double>> DrawFront(uint64_t seed, size_t count, size_t objectives) {
  std::vector<std::vector<double>> front(count, std::vector<double>(objectives));
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < objectives; ++j)
      front[i][j] = 2 * RandomUnit(seed, static_cast<int64_t>(i), Purpose::kSimulation, j) - 1;
  }
  return front;
}

std::vector<Prediction> DrawValues(uint64_t seed, size_t objectives) {
  std::vector<Prediction> values;
  for (size_t j = 0; j < objectives; ++j) {
    values.push_back({2 * RandomUnit(seed, -1, Purpose::kSimulation, j) - 1,
                      0.05 + RandomUnit(seed, -2, Purpose::kSimulation, j)});
  }
  return values;
}

double Normal(uint64_t seed, int64_t sample, uint64_t j) {
  const double u = 1 - RandomUnit(seed, sample, Purpose::kModel, 2 * j);
  const double v = RandomUnit(seed, sample, Purpose::kModel, 2 * j + 1);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

TEST_CASE("Hypervolume improvement: the mean over draws", "[scheduler]") {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const size_t objectives = 1 + seed % 4;
    const auto front = DrawFront(seed, 6, objectives);
    const std::vector<double> reference(objectives, -1.2);
    const HypervolumeImprovement improvement(front, reference);
    const std::vector<Prediction> values = DrawValues(seed, objectives);
    std::vector<ObjectivePoint> keys;
    for (const auto& point : front) {
      ObjectivePoint& key = keys.emplace_back();
      for (const double at : point) key.push_back(-at);
    }
    const ObjectivePoint reference_key(objectives, 1.2);
    constexpr int kDraws = 40'000;
    double mean = 0, squares = 0, adds = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      ObjectivePoint point;
      for (size_t j = 0; j < objectives; ++j)
        point.push_back(-(values[j].mean + std::sqrt(values[j].variance) * Normal(seed, draw, j)));
      const double own = OwnHypervolume(point, keys, reference_key);
      mean += own / kDraws;
      squares += own * own / kDraws;
      adds += own > 0 ? 1.0 / kDraws : 0;
    }
    const double error = std::sqrt((squares - mean * mean) / kDraws);
    CAPTURE(seed, objectives, improvement.boxes());
    CHECK(std::abs(std::exp(improvement.LogExpected(values)) - mean) < 4.5 * error);
    CHECK(std::abs(improvement.Chance(values) - adds) < 4.5 * std::sqrt(0.25 / kDraws));
  }
}

TEST_CASE("Hypervolume improvement: of one objective the expected improvement over the best", "[scheduler]") {
  const HypervolumeImprovement improvement({{0.3}, {0.1}, {-0.5}}, {-1});
  for (const double mean : {-40.0, -1.0, 0.3, 2.0}) {
    CHECK(improvement.LogExpected({{mean, 0.25}}) == Approx(LogExpectedImprovement({mean, 0.25}, 0.3)));
  }
}

TEST_CASE("Hypervolume improvement: the slopes are those of differences", "[scheduler]") {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const size_t objectives = 1 + seed % 4;
    const HypervolumeImprovement improvement(DrawFront(seed, 7, objectives),
                                             std::vector<double>(objectives, -1.1));
    std::vector<Prediction> values = DrawValues(seed, objectives);
    if (seed % 5 == 0) values[0].mean -= 20;  // where the improvement underflows
    Eigen::VectorXd by_mean, by_variance;
    const double log = improvement.LogExpected(values, by_mean, by_variance);
    CHECK(improvement.LogExpected(values) == Approx(log).epsilon(1e-9));
    for (size_t j = 0; j < objectives; ++j) {
      constexpr double kStep = 1e-5;
      const auto at = static_cast<Eigen::Index>(j);
      const auto slope = [&](double Prediction::*of) {
        std::vector<Prediction> more = values, less = values;
        more[j].*of += kStep;
        less[j].*of -= kStep;
        return (improvement.LogExpected(more) - improvement.LogExpected(less)) / (2 * kStep);
      };
      CAPTURE(seed, j);
      CHECK(by_mean[at] == Approx(slope(&Prediction::mean)).epsilon(1e-3).margin(1e-5));
      CHECK(by_variance[at] == Approx(slope(&Prediction::variance)).epsilon(1e-3).margin(1e-5));
    }
  }
}

TEST_CASE("Hypervolume improvement: a front whose points lie behind the reference leaves all of it",
          "[scheduler]") {
  const HypervolumeImprovement improvement({{-1, 5}, {5, -1}}, {0, 0});
  CHECK(improvement.boxes() == 1);
}

TEST_CASE("Normal: the logarithm of its distribution function has no underflow", "[scheduler]") {
  CHECK(LogNormalCdf(0) == Approx(std::log(0.5)));
  CHECK(LogNormalCdf(-40) == Approx(-804.608442));
  CHECK(LogNormalCdf(-4.999999) == Approx(LogNormalCdf(-5.000001)).epsilon(1e-5));
  for (const double z : {-30.0, -6.0, -1.0, 2.0})
    CHECK(LogNormalCdfSlope(z) ==
          Approx((LogNormalCdf(z + 1e-5) - LogNormalCdf(z - 1e-5)) / 2e-5).epsilon(1e-4));
}

}  // namespace
}  // namespace winnow
