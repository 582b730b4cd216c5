#include "trainers/mlp/network/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "trainers/common/instruction_sets.h"

namespace winnow::mlp {
namespace {

// Without a gradient, as of a dead unit, a moment decays to a denormal number and stays there, because it is
// rounded to itself; processors compute with those many times slower. Steps are so small then that they
// change no weight.
inline float Normal(float moment) {
  return std::fabs(moment) < std::numeric_limits<float>::min() ? 0.0f : moment;
}
// A second moment stays where the first one is not 0: a step is divided by its root.
inline float NormalSecond(float moment, float first) { return first == 0 ? Normal(moment) : moment; }

WINNOW_EACH_INSTRUCTION_SET
void PlainRun(float rate, float scale, float decay, float* __restrict w, const float* __restrict gradient,
              std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) w[i] -= rate * (gradient[i] * scale + decay * w[i]);
}

WINNOW_EACH_INSTRUCTION_SET
void MomentumRun(float rate, float momentum, float scale, float decay, float* __restrict w,
                 float* __restrict v, const float* __restrict gradient, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float g = gradient[i] * scale + decay * w[i];
    const float moved = Normal(momentum * v[i] + g);
    v[i] = moved;
    w[i] -= rate * moved;
  }
}

WINNOW_EACH_INSTRUCTION_SET
void NesterovRun(float rate, float momentum, float scale, float decay, float* __restrict w,
                 float* __restrict v, const float* __restrict gradient, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float g = gradient[i] * scale + decay * w[i];
    const float moved = Normal(momentum * v[i] + g);
    v[i] = moved;
    w[i] -= rate * (g + momentum * moved);
  }
}

// `decay` applies to the gradient (Adam), `shrink` to the weight itself (AdamW).
WINNOW_EACH_INSTRUCTION_SET
void AdamRun(const StepRule& rule, float decay, float shrink, float* __restrict w, float* __restrict m,
             float* __restrict v, const float* __restrict gradient, std::size_t count) {
  const float beta1 = rule.beta1, beta2 = rule.beta2, epsilon = rule.epsilon, scale = rule.gradient_scale;
  const float rest1 = 1 - beta1, rest2 = 1 - beta2;
  const float rate = rule.learning_rate * rule.correction1, root = std::sqrt(rule.correction2);
  for (std::size_t i = 0; i < count; ++i) {
    const float g = gradient[i] * scale + decay * w[i];
    m[i] = Normal(beta1 * m[i] + rest1 * g);
    v[i] = NormalSecond(beta2 * v[i] + rest2 * (g * g), m[i]);
    const float kept = w[i] - shrink * w[i];
    w[i] = kept - rate * m[i] / (std::sqrt(v[i]) * root + epsilon);
  }
}

WINNOW_EACH_INSTRUCTION_SET
void LambRun(const StepRule& rule, float decay, const float* __restrict w, float* __restrict m,
             float* __restrict v, float* __restrict gradient, std::size_t count) {
  const float beta1 = rule.beta1, beta2 = rule.beta2, epsilon = rule.epsilon, scale = rule.gradient_scale;
  const float rest1 = 1 - beta1, rest2 = 1 - beta2;
  const float correction1 = rule.correction1, root = std::sqrt(rule.correction2);
  for (std::size_t i = 0; i < count; ++i) {
    const float g = gradient[i] * scale;
    m[i] = Normal(beta1 * m[i] + rest1 * g);
    v[i] = NormalSecond(beta2 * v[i] + rest2 * (g * g), m[i]);
    gradient[i] = correction1 * m[i] / (std::sqrt(v[i]) * root + epsilon) + decay * w[i];
  }
}

WINNOW_EACH_INSTRUCTION_SET
void SubtractRun(float factor, float* __restrict w, const float* __restrict direction, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) w[i] -= factor * direction[i];
}

// Eight independent sums, combined in one order.
WINNOW_EACH_INSTRUCTION_SET
double SquareSum(const float* values, std::size_t count) {
  constexpr std::size_t kLanes = 8;
  double sums[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      sums[lane] += value * value;
    }
  }
  for (; i < count; ++i) sums[0] += static_cast<double>(values[i]) * values[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace

int SlotCount(OptimizerKind kind) { return kind == OptimizerKind::kSgd ? 1 : 2; }

StepRule RuleAt(const MlpParameters& parameters, int64_t step, int64_t schedule_step, int64_t epoch_steps,
                int ranks) {
  StepRule rule;
  rule.kind = parameters.optimizer;
  rule.learning_rate = static_cast<float>(LearningRateAt(parameters, schedule_step, epoch_steps, ranks));
  rule.momentum = static_cast<float>(parameters.momentum);
  rule.nesterov = parameters.nesterov;
  rule.beta1 = static_cast<float>(parameters.beta1);
  rule.beta2 = static_cast<float>(parameters.beta2);
  rule.epsilon = static_cast<float>(parameters.epsilon);
  const double t = static_cast<double>(step + 1);
  rule.correction1 = static_cast<float>(1 / (1 - std::pow(parameters.beta1, t)));
  rule.correction2 = static_cast<float>(1 / (1 - std::pow(parameters.beta2, t)));
  rule.weight_decay = static_cast<float>(parameters.weight_decay);
  return rule;
}

void UpdateRun(const StepRule& rule, bool decays, float* parameters, float* slot0, float* slot1,
               const float* gradient, std::size_t count) {
  const float decay = decays ? rule.weight_decay : 0.0f, rate = rule.learning_rate;
  switch (rule.kind) {
    case OptimizerKind::kSgd:
      if (slot0 == nullptr || rule.momentum == 0)
        PlainRun(rate, rule.gradient_scale, decay, parameters, gradient, count);
      else if (rule.nesterov)
        NesterovRun(rate, rule.momentum, rule.gradient_scale, decay, parameters, slot0, gradient, count);
      else
        MomentumRun(rate, rule.momentum, rule.gradient_scale, decay, parameters, slot0, gradient, count);
      return;
    case OptimizerKind::kAdam:
      return AdamRun(rule, decay, 0, parameters, slot0, slot1, gradient, count);
    case OptimizerKind::kAdamW:
      return AdamRun(rule, 0, rate * decay, parameters, slot0, slot1, gradient, count);
    case OptimizerKind::kLamb:
      return;
  }
}

void LambDirection(const StepRule& rule, bool decays, const float* parameters, float* slot0, float* slot1,
                   float* gradient, std::size_t count) {
  LambRun(rule, decays ? rule.weight_decay : 0.0f, parameters, slot0, slot1, gradient, count);
}

void LambApply(const StepRule& rule, float trust, float* parameters, const float* direction,
               std::size_t count) {
  SubtractRun(rule.learning_rate * trust, parameters, direction, count);
}

void SquareSums(const float* values, std::size_t count, double* sums) {
  for (std::size_t at = 0; at < count; at += kNormRun)
    *sums++ = SquareSum(values + at, std::min(kNormRun, count - at));
}

}  // namespace winnow::mlp
