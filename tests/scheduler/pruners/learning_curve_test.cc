#include "scheduler/pruners/learning_curve.h"

#include <cmath>

#include "scheduler/pruners/curve_ensemble.h"
#include "scheduler/space/random.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

using CurvePoints = std::vector<std::pair<int64_t, double>>;

double Normal(uint64_t seed, int64_t who, uint64_t index) {
  const double u = 1 - RandomUnit(seed, who, Purpose::kSimulation, 2 * index);
  return std::sqrt(-2 * std::log(u)) *
         std::cos(2 * M_PI * RandomUnit(seed, who, Purpose::kSimulation, 2 * index + 1));
}

// Curve `number` of one of several kinds, without noise.
double TrueValue(int64_t number, int64_t level) {
  const auto draw = [number](uint64_t i) { return RandomUnit(11, number, Purpose::kSimulation, 1000 + i); };
  const auto x = static_cast<double>(level);
  const double top = 0.5 + 0.5 * draw(0), depth = 0.2 + draw(1);
  switch (number % 4) {
    case 0:
      return top - depth * std::pow(x, -(0.2 + draw(2)));
    case 1:
      return top - depth * std::exp(-x * (0.02 + 0.2 * draw(2)));
    case 2:
      return top - depth / (1 + std::pow(x / 8, 0.8 + draw(2)));
    default:  // rises, then falls a little, as in overfitting
      return top - depth * std::pow(x, -0.5) - 0.002 * draw(2) * x;
  }
}

TEST_CASE("Curve ensemble: nine tenths of the ends lie in the intervals that should hold them",
          "[scheduler]") {
  int inside = 0, all = 0;
  for (int64_t number = 0; number < 400; ++number) {
    const double noise = number % 3 == 0 ? 0.0 : number % 3 == 1 ? 0.005 : 0.02;
    for (int64_t seen : {6, 12, 27, 50}) {
      CurvePoints curve;
      for (int64_t level = 1; level <= seen; ++level) {
        curve.emplace_back(level, TrueValue(number, level) + noise * Normal(12, number, level));
      }
      const double end = TrueValue(number, 81) + noise * Normal(12, number, 81);
      const CurvePrediction end_at = PredictCurve(curve, 81, 0);
      inside += std::abs(end - end_at.mean) <= 1.645 * end_at.deviation ? 1 : 0;
      ++all;
    }
  }
  INFO(inside << " of " << all);
  CHECK(inside >= 0.88 * all);
}

TEST_CASE("Curve ensemble: is surer the more it has seen, and never of the far end", "[scheduler]") {
  CurvePoints curve;
  double deviation = 1e9;
  for (int64_t level = 1; level <= 64; ++level) {
    curve.emplace_back(level, 1 - std::pow(static_cast<double>(level), -0.5));
    if (level < 8 || (level & (level - 1)) != 0) continue;
    const CurvePrediction at = PredictCurve(curve, 128, 0.95);
    CHECK(at.deviation < deviation);
    deviation = at.deviation;
  }
  CHECK(PredictCurve(curve, 128, 0.95).mean == Approx(1 - std::pow(128.0, -0.5)).margin(0.02));
  CHECK(PredictCurve(curve, 1'000'000, 0.95).deviation > 3 * deviation);
}

TEST_CASE("Curve ensemble: a flat curve, a huge and a tiny one are answered with finite numbers",
          "[scheduler]") {
  for (double scale : {0.0, 1.0, 1e300, 1e-300}) {
    CurvePoints flat, rising;
    for (int64_t level = 1; level <= 9; ++level) {
      flat.emplace_back(level, scale);
      rising.emplace_back(level, scale * static_cast<double>(level) / 10);
    }
    for (const CurvePoints& curve : {flat, rising}) {
      const CurvePrediction at = PredictCurve(curve, 81, 0.5);
      CHECK(std::isfinite(at.mean));
      CHECK(at.chance_above >= 0);
      CHECK(at.chance_above <= 1);
    }
  }
}

SearchSpec LearningCurveJob() {
  SearchSpec spec = RandomJob(50, 64);
  spec.pruner.kind = PrunerKind::kLearningCurve;
  spec.pruner.min_chance = 0.05;
  spec.pruner.warm_up_trials = 1;
  return spec;
}

// Trains the next trial along top - 1/sqrt(level) until it ends; the level it reached.
int64_t TrainTo(PlayedJob& job, double top) {
  const TrialNumber number = job.Start();
  for (int64_t level = 1; level <= 64; ++level) {
    job.Report(number, level, top - 1 / std::sqrt(static_cast<double>(level)));
    if (job.trial(number).ended()) return level;
  }
  job.End(number, AttemptOutcome::kFinished);
  return 64;
}

TEST_CASE("Learning curve: hopeless trials are stopped early, close ones late, better ones never",
          "[scheduler]") {
  PlayedJob job(LearningCurveJob());
  CHECK(TrainTo(job, 1.0) == 64);
  const int64_t hopeless = TrainTo(job, 0.2), close = TrainTo(job, 0.93);
  CHECK(hopeless <= 8);
  CHECK(close > hopeless);
  CHECK(TrainTo(job, 1.1) == 64);
  const std::string& reason = job.trial(2).reason;
  CHECK(reason.find("Learning curve: after score = ") == 0);
  CHECK(reason.find("is expected at resource 64; the chance to beat the best so far, 0.875, is ") !=
        std::string::npos);
  CHECK(reason.find("below min_chance = 5 %.") != std::string::npos);
}

TEST_CASE("Learning curve: nothing is stopped before the warm-up, or with min_chance = 0", "[scheduler]") {
  SearchSpec warm = LearningCurveJob();
  warm.pruner.warm_up_trials = 2;
  PlayedJob job(warm);
  TrainTo(job, 1.0);
  CHECK(TrainTo(job, 0.2) == 64);
  CHECK(TrainTo(job, 0.2) < 64);
  SearchSpec never = LearningCurveJob();
  never.pruner.min_chance = 0;
  PlayedJob other(never);
  TrainTo(other, 1.0);
  CHECK(TrainTo(other, 0.2) == 64);
}

TEST_CASE("Learning curve: stops trials inside of Hyperband, whose rung is cut all the same", "[scheduler]") {
  SearchSpec spec = HyperbandJob(64, 4);
  spec.pruner.rungs.min_resource = 16;  // "4@16 1@64", "2@64"
  spec.pruner.min_chance = 0.05;
  spec.pruner.warm_up_trials = 0;
  PlayedJob job(spec);
  for (TrialNumber n = 1; n <= 4; ++n) REQUIRE(job.Start() == n);
  for (int64_t level = 1; level <= 16; ++level)
    job.Report(1, level, 1 - 1 / std::sqrt(static_cast<double>(level)));
  job.End(1, AttemptOutcome::kFinished);
  for (int64_t level = 1; level <= 8; ++level)
    job.Report(2, level, -5 - 1 / std::sqrt(static_cast<double>(level)));
  CHECK(job.trial(2).reason.find("Learning curve: ") == 0);
  job.End(2, AttemptOutcome::kStopped);
  job.Finish(3, 0.5);
  job.Finish(4, 0.6);
  CHECK(job.Newest<RungCut>().ranking == std::vector<TrialNumber>{1, 4, 3, 2});
}

}  // namespace
}  // namespace winnow
