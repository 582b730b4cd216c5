#include <algorithm>
#include <cstdint>

#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {
namespace {

constexpr double kPi = 3.14159265358979323846;

// sin x in plain arithmetic, the same bits on every machine: the Taylor series, truncated below 1e-16 for |x|
// <= pi / 2.
double PortableSin(double x) {
  constexpr int kTerms = 10;
  const double z = x * x;
  double sum = 1;
  for (int k = kTerms; k >= 1; --k) sum = 1 - z / (2.0 * k * (2.0 * k + 1)) * sum;
  return x * sum;
}

// (1 + cos(pi t)) / 2 for t in [0, 1].
double CosineShare(double t) { return 0.5 * (1 + PortableSin(kPi * (0.5 - t))); }

// base^exponent by squaring.
double PowerOf(double base, int64_t exponent) {
  double power = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) power *= base;
  }
  return power;
}

}  // namespace

int DefaultVirtualShards(int64_t batch_size) {
  constexpr int64_t kLeastRows = 8;
  for (int shards : {12, 4, 2}) {
    if (batch_size >= shards * kLeastRows) return shards;
  }
  return 1;
}

double LearningRateAt(const MlpParameters& parameters, int64_t step, int64_t epoch_steps, int ranks) {
  const double full = parameters.learning_rate * (parameters.scale_learning_rate ? ranks : 1);
  const double warmup_steps = parameters.warmup_epochs * static_cast<double>(epoch_steps);
  const double done = static_cast<double>(step);
  double rate = full;
  if (parameters.schedule == ScheduleKind::kStep) {
    rate = full * PowerOf(parameters.step_factor, step / epoch_steps / parameters.step_epochs);
  } else if (parameters.schedule == ScheduleKind::kCosine) {
    const double all = static_cast<double>(parameters.epochs) * static_cast<double>(epoch_steps);
    const double share = all > warmup_steps ? (done - warmup_steps) / (all - warmup_steps) : 0;
    const double t = std::clamp(share, 0.0, 1.0);
    rate = parameters.min_learning_rate + (full - parameters.min_learning_rate) * CosineShare(t);
  }
  return done + 1 < warmup_steps ? rate * ((done + 1) / warmup_steps) : rate;
}

}  // namespace winnow::mlp
