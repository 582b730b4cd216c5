#include "scheduler/models/rung_values.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/scheduler/models/mixed_points.h"

namespace winnow {
namespace {

const std::vector<int64_t> kLevels = {1, 3, 9, 27, 81};

double Truth(int64_t trial, int64_t level) {
  const double end = Uniform(1, trial, 0), speed = 0.3 + Uniform(1, trial, 1);
  return end - 0.5 * std::pow(static_cast<double>(level), -speed);
}

// Thirty of them, trained to different rungs, reported every so many units and at the rungs' own levels.
std::vector<SeenCurve> Curves(double noise, int64_t every) {
  std::vector<SeenCurve> curves;
  for (int64_t trial = 0; trial < 30; ++trial) {
    SeenCurve curve;
    curve.rungs = static_cast<size_t>(1 + trial % 5);
    for (int64_t level = 1; level <= kLevels[curve.rungs - 1]; ++level) {
      if (level % every != 0 && level != kLevels[curve.rungs - 1]) continue;
      curve.points.emplace_back(level,
                                Truth(trial, level) + noise * Normal(2, trial, static_cast<uint64_t>(level)));
    }
    curves.push_back(std::move(curve));
  }
  return curves;
}

// Root mean square over all that was reached at rung `k`.
double Error(const std::vector<RungValues>& read, size_t k) {
  double squares = 0, count = 0;
  for (size_t i = 0; i < read.size(); ++i) {
    if (read[i].at.size() <= k) continue;
    squares += std::pow(read[i].at[k] - Truth(static_cast<int64_t>(i), kLevels[k]), 2);
    ++count;
  }
  return std::sqrt(squares / count);
}

std::vector<RungValues> LastReports(const std::vector<SeenCurve>& curves) {
  std::vector<RungValues> read;
  for (const SeenCurve& curve : curves) read.push_back(ReadRungs(kLevels, curve));
  return read;
}

TEST_CASE("Rung values: curves without noise are read as they are", "[scheduler]") {
  const std::vector<RungValues> read = ReadRungs(kLevels, Curves(0, 1));
  for (size_t k = 0; k < kLevels.size(); ++k) CHECK(Error(read, k) < 1e-3);
  for (size_t i = 0; i < read.size(); ++i) CHECK(read[i].at.size() == 1 + i % 5);
}

TEST_CASE("Rung values: of noisy curves more is known than their last report", "[scheduler]") {
  const std::vector<SeenCurve> curves = Curves(0.1, 1);
  const std::vector<RungValues> read = ReadRungs(kLevels, curves), last = LastReports(curves);
  CHECK(Error(read, 4) < 0.5 * Error(last, 4));
  CHECK(Error(read, 3) < 0.8 * Error(last, 3));
  for (size_t k = 0; k < kLevels.size(); ++k) CHECK(Error(read, k) < 1.05 * Error(last, k));
}

TEST_CASE("Rung values: a little noise is no reason to distrust reports much", "[scheduler]") {
  for (const double noise : {0.001, 0.01, 0.03}) {
    const std::vector<SeenCurve> curves = Curves(noise, 1);
    for (size_t k = 0; k < kLevels.size(); ++k) {
      CAPTURE(noise, k);
      CHECK(Error(ReadRungs(kLevels, curves), k) < 1.1 * Error(LastReports(curves), k) + 1e-4);
    }
  }
}

TEST_CASE("Rung values: where reports are rare the newest at or below a rung counts", "[scheduler]") {
  const std::vector<RungValues> read =
      ReadRungs(kLevels, std::vector<SeenCurve>{{{{5, 0.5}, {10, 0.6}, {20, 0.7}, {27, 0.8}}, 4}});
  CHECK(read[0].at == std::vector<double>{0.5, 0.5, 0.5, 0.8});  // below the first report: the first
  CHECK(read[0].before == std::vector<double>{0.5, 0.5, 0.5, 0.6});
}

TEST_CASE("Rung values: a single report and a trainer's own end reach every rung", "[scheduler]") {
  const std::vector<SeenCurve> curves = {{{{7, 0.4}}, 5}, {{{1, 0.1}}, 1}};
  const std::vector<RungValues> read = ReadRungs(kLevels, curves);
  CHECK(read[0].at == std::vector<double>(5, 0.4));
  CHECK(read[1].at == std::vector<double>{0.1});
}

TEST_CASE("Rung values: thousands of reports of a curve are read like fewer", "[scheduler]") {
  SeenCurve curve;
  curve.rungs = 1;
  for (int64_t level = 1; level <= 20'000; ++level)
    curve.points.emplace_back(level, 0.7 + 0.1 * Normal(3, level, 0));
  CHECK(ReadRungs({20'000}, std::vector<SeenCurve>{curve})[0].at[0] == Approx(0.7).margin(0.05));
}

}  // namespace
}  // namespace winnow
