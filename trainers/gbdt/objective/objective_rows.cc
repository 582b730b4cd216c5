#include "trainers/gbdt/objective/objective_rows.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>

#include "base/check.h"
#include "trainers/common/instruction_sets.h"
#include "trainers/common/portable_math.h"

namespace winnow::gbdt {
namespace {

#define WINNOW_INLINE [[gnu::always_inline]] inline

constexpr float kMinHessian = 1e-16f;  // as XGBoost, so that no hessian is 0
constexpr float kLargest = 1e25f;
constexpr int64_t kSoftmaxRows = 256;  // at a time, so that the data per row stay in the nearest cache

// Losses are functors of (margin, label, &gradient, &hessian), named after XGBoost's classes.

WINNOW_INLINE float Bounded(float value) { return std::min(std::max(value, -kLargest), kLargest); }

// As in XGBoost, scale_pos_weight applies to rows with a label of exactly 1, with each of these losses.
struct LinearSquareLoss {
  float positive;
  WINNOW_INLINE void operator()(float margin, float label, float* g, float* h) const {
    const float weight = label == 1.0f ? positive : 1.0f;
    *g = (margin - label) * weight;
    *h = weight;
  }
};

struct LogisticRegression {
  float positive;
  WINNOW_INLINE void operator()(float margin, float label, float* g, float* h) const {
    const float prediction = Sigmoid(margin);
    const float weight = label == 1.0f ? positive : 1.0f;
    *g = (prediction - label) * weight;
    *h = std::max(prediction * (1.0f - prediction), kMinHessian) * weight;
  }
};

struct SquaredLogError {
  float positive;
  WINNOW_INLINE void operator()(float margin, float label, float* g, float* h) const {
    constexpr float kLowest = -1 + 1e-6f;
    const float weight = label == 1.0f ? positive : 1.0f;
    const double more = 1.0 + std::max(margin, kLowest);
    const double difference = PortableLog(more) - PortableLog(1.0 + label);
    const float gradient = static_cast<float>(difference / more);
    const float hessian = static_cast<float>((1.0 - difference) / (more * more));
    *g = gradient * weight;
    *h = std::max(hessian, 1e-6f) * weight;
  }
};

struct HingeLoss {
  WINNOW_INLINE void operator()(float margin, float label, float* g, float* h) const {
    const float sign = label * 2.0f - 1.0f;
    const bool wrong = margin * sign < 1.0f;
    *g = wrong ? -sign : 0.0f;
    *h = wrong ? 1.0f : FLT_MIN;
  }
};

struct AbsoluteError {
  WINNOW_INLINE void operator()(float margin, float label, float* g, float* h) const {
    const float residue = margin - label;
    *g = (residue > 0 ? 1.0f : 0.0f) - (residue < 0 ? 1.0f : 0.0f);
    *h = 1.0f;
  }
};

struct PseudoHuber {
  float slope;
  WINNOW_INLINE void operator()(float margin, float label, float* g, float* h) const {
    // The bound keeps squares within the range of float.
    const float z = std::min(std::max(margin - label, -1e18f), 1e18f);
    const float root = std::sqrt(1 + z * z / (slope * slope));
    *g = z / root;
    *h = slope * slope / ((slope * slope + z * z) * root);
  }
};

struct QuantileLoss {
  float alpha;
  WINNOW_INLINE void operator()(float margin, float label, float* g, float* h) const {
    *g = margin >= label ? 1.0f - alpha : -alpha;
    *h = 1.0f;
  }
};

struct PoissonRegression {
  float max_delta_step;
  WINNOW_INLINE void operator()(float margin, float label, float* g, float* h) const {
    *g = Bounded(PortableExp(margin) - label);
    *h = Bounded(PortableExp(margin + max_delta_step));
  }
};

struct GammaRegression {
  WINNOW_INLINE void operator()(float margin, float label, float* g, float* h) const {
    const float ratio = Bounded(label / PortableExp(margin));
    *g = 1 - ratio;
    *h = ratio;
  }
};

struct TweedieRegression {
  float power;
  WINNOW_INLINE void operator()(float margin, float label, float* g, float* h) const {
    const float low = PortableExp((1 - power) * margin), high = PortableExp((2 - power) * margin);
    *g = Bounded(-label * low + high);
    *h = Bounded(-label * (1 - power) * low + (2 - power) * high);
  }
};

template <typename Loss>
WINNOW_INLINE void EachRow(const Loss loss, const GradientRows& rows) {
  const float* __restrict__ margin = rows.margin;
  const float* __restrict__ label = rows.label;
  float* __restrict__ gradient = rows.gradient;
  float* __restrict__ hessian = rows.hessian;
  for (int64_t i = 0; i < rows.count; ++i) loss(margin[i], label[i], &gradient[i], &hessian[i]);
}

// A plain function per loss: templates cannot be compiled for several instruction sets.
#define WINNOW_ROWS_OF(Loss) \
  WINNOW_EACH_INSTRUCTION_SET void Loss##Rows(Loss loss, const GradientRows& rows) { EachRow(loss, rows); }
WINNOW_ROWS_OF(LinearSquareLoss)
WINNOW_ROWS_OF(LogisticRegression)
WINNOW_ROWS_OF(SquaredLogError)
WINNOW_ROWS_OF(HingeLoss)
WINNOW_ROWS_OF(AbsoluteError)
WINNOW_ROWS_OF(PseudoHuber)
WINNOW_ROWS_OF(QuantileLoss)
WINNOW_ROWS_OF(PoissonRegression)
WINNOW_ROWS_OF(GammaRegression)
WINNOW_ROWS_OF(TweedieRegression)
#undef WINNOW_ROWS_OF

// For up to kSoftmaxRows rows.
WINNOW_INLINE void SoftmaxOfFew(const float* margin, int64_t stride, int classes, int64_t count, float* out,
                                int64_t out_stride) {
  std::array<float, kSoftmaxRows> highest, sum{};
  for (int64_t i = 0; i < count; ++i) highest[i] = margin[i];
  for (int k = 1; k < classes; ++k) {
    const float* of_class = margin + k * stride;
    for (int64_t i = 0; i < count; ++i) highest[i] = std::max(highest[i], of_class[i]);
  }
  for (int k = 0; k < classes; ++k) {
    const float* of_class = margin + k * stride;
    float* __restrict__ to = out + k * out_stride;
    for (int64_t i = 0; i < count; ++i) {
      const float power = PortableExp(of_class[i] - highest[i]);
      to[i] = power;
      sum[i] += power;
    }
  }
  for (int k = 0; k < classes; ++k) {
    float* to = out + k * out_stride;
    for (int64_t i = 0; i < count; ++i) to[i] /= sum[i];
  }
}

}  // namespace

void RowGradients(const GbdtParameters& parameters, const GradientRows& rows) {
  const float positive = static_cast<float>(parameters.scale_pos_weight);
  switch (parameters.objective) {
    case ObjectiveKind::kBinaryLogistic:
    case ObjectiveKind::kBinaryLogitRaw:
    case ObjectiveKind::kRegLogistic:
      return LogisticRegressionRows({positive}, rows);
    case ObjectiveKind::kBinaryHinge:
      return HingeLossRows({}, rows);
    case ObjectiveKind::kSquaredError:
      return LinearSquareLossRows({positive}, rows);
    case ObjectiveKind::kSquaredLogError:
      return SquaredLogErrorRows({positive}, rows);
    case ObjectiveKind::kAbsoluteError:
      return AbsoluteErrorRows({}, rows);
    case ObjectiveKind::kPseudoHuber:
      return PseudoHuberRows({static_cast<float>(parameters.huber_slope)}, rows);
    case ObjectiveKind::kQuantile:
      return QuantileLossRows({static_cast<float>(parameters.quantile_alpha)}, rows);
    case ObjectiveKind::kPoisson:
      return PoissonRegressionRows({static_cast<float>(parameters.max_delta_step)}, rows);
    case ObjectiveKind::kGamma:
      return GammaRegressionRows({}, rows);
    case ObjectiveKind::kTweedie:
      return TweedieRegressionRows({static_cast<float>(parameters.tweedie_variance_power)}, rows);
    case ObjectiveKind::kSoftMax:
    case ObjectiveKind::kSoftProb:
    case ObjectiveKind::kRankNdcg:
    case ObjectiveKind::kRankPairwise:
      break;
  }
  WINNOW_UNREACHABLE("gradients of classes and of groups are computed elsewhere");
}

WINNOW_EACH_INSTRUCTION_SET
void SoftmaxGradients(const GradientRows& rows, int64_t stride, int classes, float hessian_factor) {
  for (int64_t begin = 0; begin < rows.count; begin += kSoftmaxRows) {
    const int64_t count = std::min(kSoftmaxRows, rows.count - begin);
    SoftmaxOfFew(rows.margin + begin, stride, classes, count, rows.gradient + begin, stride);
    const float* __restrict__ label = rows.label + begin;
    for (int k = 0; k < classes; ++k) {
      const float of_class = static_cast<float>(k);
      float* __restrict__ g = rows.gradient + begin + k * stride;
      float* __restrict__ h = rows.hessian + begin + k * stride;
      for (int64_t i = 0; i < count; ++i) {
        const float probability = g[i];
        h[i] = std::max(hessian_factor * probability * (1.0f - probability), kMinHessian);
        g[i] = probability - (label[i] == of_class ? 1.0f : 0.0f);
      }
    }
  }
}

WINNOW_EACH_INSTRUCTION_SET
void MultiplyRows(const float* __restrict__ by, int64_t count, float* __restrict__ value) {
  for (int64_t i = 0; i < count; ++i) value[i] *= by[i];
}

WINNOW_EACH_INSTRUCTION_SET
void SigmoidRows(const float* in, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = Sigmoid(in[i]);
}

WINNOW_EACH_INSTRUCTION_SET
void ExpRows(const float* in, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = PortableExp(in[i]);
}

WINNOW_EACH_INSTRUCTION_SET
void SoftmaxRows(const float* margin, int64_t stride, int classes, int64_t count, float* out,
                 int64_t out_stride) {
  for (int64_t begin = 0; begin < count; begin += kSoftmaxRows) {
    SoftmaxOfFew(margin + begin, stride, classes, std::min(kSoftmaxRows, count - begin), out + begin,
                 out_stride);
  }
}

}  // namespace winnow::gbdt
