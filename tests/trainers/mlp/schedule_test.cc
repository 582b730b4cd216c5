#include <cmath>

#include "tests/catch.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {
namespace {

constexpr int64_t kEpoch = 10;  // steps

TEST_CASE("DefaultVirtualShards: as many as leave 8 rows to each", "[mlp]") {
  CHECK(DefaultVirtualShards(128) == 12);
  CHECK(DefaultVirtualShards(96) == 12);
  CHECK(DefaultVirtualShards(95) == 4);
  CHECK(DefaultVirtualShards(32) == 4);
  CHECK(DefaultVirtualShards(31) == 2);
  CHECK(DefaultVirtualShards(15) == 1);
}

TEST_CASE("Schedule: constant stays, with ranks only where it is asked for", "[mlp]") {
  MlpParameters p;
  CHECK(LearningRateAt(p, 0, kEpoch, 4) == 0.1);
  CHECK(LearningRateAt(p, 1000, kEpoch, 4) == 0.1);
  p.scale_learning_rate = true;
  CHECK(LearningRateAt(p, 1000, kEpoch, 4) == Approx(0.4));
}

TEST_CASE("Schedule: step multiplies after every step_epochs", "[mlp]") {
  MlpParameters p;
  p.schedule = ScheduleKind::kStep;
  p.step_epochs = 2;
  p.step_factor = 0.5;
  CHECK(LearningRateAt(p, 19, kEpoch, 1) == 0.1);
  CHECK(LearningRateAt(p, 20, kEpoch, 1) == 0.05);
  CHECK(LearningRateAt(p, 59, kEpoch, 1) == 0.025);
  CHECK(LearningRateAt(p, 60, kEpoch, 1) == 0.0125);
}

TEST_CASE("Schedule: cosine falls from the rate to its end, as the cosine does", "[mlp]") {
  MlpParameters p;
  p.schedule = ScheduleKind::kCosine;
  p.epochs = 4;
  p.min_learning_rate = 0.01;
  CHECK(LearningRateAt(p, 0, kEpoch, 1) == Approx(0.1));
  CHECK(LearningRateAt(p, 40, kEpoch, 1) == Approx(0.01));
  CHECK(LearningRateAt(p, 400, kEpoch, 1) == Approx(0.01));
  for (int step = 0; step <= 40; ++step) {
    const double expected = 0.01 + 0.09 * 0.5 * (1 + std::cos(3.14159265358979323846 * step / 40));
    CHECK(std::fabs(LearningRateAt(p, step, kEpoch, 1) - expected) < 1e-15);
  }
}

TEST_CASE("Schedule: warm-up rises from near 0 to where the schedule goes on", "[mlp]") {
  MlpParameters p;
  p.warmup_epochs = 2;
  CHECK(LearningRateAt(p, 0, kEpoch, 1) == Approx(0.005));
  CHECK(LearningRateAt(p, 9, kEpoch, 1) == Approx(0.05));
  CHECK(LearningRateAt(p, 19, kEpoch, 1) == 0.1);
  p.schedule = ScheduleKind::kCosine;
  p.epochs = 4;
  CHECK(LearningRateAt(p, 19, kEpoch, 1) == 0.1);
  CHECK(LearningRateAt(p, 30, kEpoch, 1) == Approx(0.05));  // half-way from epoch 2 to 4
}

}  // namespace
}  // namespace winnow::mlp
