#include "trainers/mlp/network/loss_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "trainers/common/instruction_sets.h"
#include "trainers/mlp/network/distillation.h"
#include "trainers/mlp/network/loss_lanes.h"

namespace winnow::mlp {
namespace {

constexpr int kLossBlock = 64;  // rows whose logarithms are computed together

// The results of one row's softmax.
struct Softmax {
  float of_label[kLossBlock];  // its output
  float largest[kLossBlock];
  float outputs_sum[kLossBlock];
  float others[kLossBlock];  // sum of e^(output - largest) of all but the label
  double total[kLossBlock];  // of all
};

// The largest float below x. REQUIRES: there is one.
WINNOW_LANES float NextBelow(float x) {
  const int32_t bits = std::bit_cast<int32_t>(x);
  return x == 0 ? -std::numeric_limits<float>::denorm_min()
                : std::bit_cast<float>(x > 0 ? bits - 1 : bits + 1);
}

// Writes exponentials to `delta`, if there is one.
WINNOW_LANES void ReadRow(const LossRule& rule, const float* outputs, float label, float* delta,
                          int32_t* before, int r, Softmax* softmax) {
  const int k = rule.outputs, label_class = ClassOf(label, k);
  const float of_label = label_class < 0 ? kNoOutput : outputs[label_class];
  const float below_label = NextBelow(of_label);  // equal outputs before it exceed this
  Lanes largest = Lanes{} + kNoOutput, sums = {};
  Lanes ahead = {};
  for (int p = 0; p < k; p += kPanel) {
    Lanes x, plain;
    LoadFirst(outputs + p, k - p, kNoOutput, &x);
    LoadFirst(outputs + p, k - p, 0, &plain);
    KeepLarger(x, &largest);
    sums += plain;
    const Lanes bar =
        kLaneNumber < static_cast<float>(label_class - p) ? Lanes{} + below_label : Lanes{} + of_label;
    ahead += x > bar ? Lanes{} + 1 : Lanes{};
  }
  const float top = LargestOfLanes(largest);
  Lanes others = {};
  for (int p = 0; p < k; p += kPanel) {
    Lanes x, e;
    Load(outputs + p, &x);
    ExpBelow(x, top, 1.0f, k - p, &e);
    others += kLaneNumber == static_cast<float>(label_class - p) ? Lanes{} : e;
    if (delta != nullptr) Store(e, delta + p);
  }
  softmax->of_label[r] = of_label;
  softmax->largest[r] = top;
  softmax->outputs_sum[r] = SumOfLanes(sums);
  softmax->others[r] = SumOfLanes(others);
  const float e_label = label_class < 0 ? 0.0f : PortableExp(of_label - top);
  softmax->total[r] = static_cast<double>(softmax->others[r]) + static_cast<double>(e_label);
  if (before != nullptr) *before = of_label == of_label ? static_cast<int32_t>(SumOfLanes(ahead)) : k;
}

// Converts a row's exponentials to (softmax - target) * factor. The label's own part is computed from the sum
// of the others: for a confident row, the difference to 1 would lose all digits.
WINNOW_LANES void FinishDelta(const LossRule& rule, float label, float factor, const Softmax& softmax, int r,
                              float* delta) {
  const int k = rule.outputs, label_class = ClassOf(label, k);
  const float inverse = static_cast<float>(1.0 / softmax.total[r]);
  const float everyone = rule.smoothing / static_cast<float>(k);
  const float of_label = rule.smoothing - everyone - softmax.others[r] * inverse;
  for (int p = 0; p < k; p += kPanel) {
    Lanes e;
    Load(delta + p, &e);
    const Lanes part =
        kLaneNumber == static_cast<float>(label_class - p) ? Lanes{} + of_label : e * inverse - everyone;
    Store(kLaneNumber < static_cast<float>(k - p) ? part * factor : Lanes{}, delta + p);
  }
}

WINNOW_EACH_INSTRUCTION_SET
void CrossEntropyBlock(const LossRule& rule, const LossBatch& batch, int64_t begin, int count) {
  Softmax softmax;
  for (int r = 0; r < count; ++r) {
    const int64_t row = begin + r;
    ReadRow(rule, batch.outputs + row * batch.stride, batch.label[row],
            batch.delta == nullptr ? nullptr : batch.delta + row * batch.stride,
            batch.before == nullptr ? nullptr : batch.before + row, r, &softmax);
  }
  for (int r = 0; batch.delta != nullptr && r < count; ++r) {
    const int64_t row = begin + r;
    const float factor = batch.scale * (batch.weight == nullptr ? 1.0f : batch.weight[row]);
    FinishDelta(rule, batch.label[row], factor, softmax, r, batch.delta + row * batch.stride);
  }
  if (batch.loss == nullptr) return;
  const double smoothing = rule.smoothing, share = smoothing / rule.outputs;
  double loss[kLossBlock];
  for (int r = count; r < kLossBlock; ++r) {
    softmax.total[r] = 1;
    softmax.largest[r] = softmax.of_label[r] = softmax.outputs_sum[r] = 0;
  }
  for (int r = 0; r < kLossBlock; ++r) {
    const double top = softmax.largest[r], sum = softmax.outputs_sum[r];
    const double all = PortableLog(softmax.total[r]);
    const double hard = all + (top - static_cast<double>(softmax.of_label[r]));
    loss[r] = (1.0 - smoothing) * hard + (smoothing * (all + top) - share * sum) + (sum - sum);
  }
  for (int r = 0; r < count; ++r) batch.loss[begin + r] = static_cast<float>(loss[r]);
}

// Rows of one output, in lanes. Lanes beyond the last row are 0.
struct Singles {
  float output[kLossBlock] = {}, label[kLossBlock] = {}, teacher[kLossBlock] = {};
  float slope[kLossBlock], loss[kLossBlock];
};

// ln(1 + e^-x)
WINNOW_LANES double SoftPlusOfMinus(float x) {
  const double e = PortableExp(-std::fabs(x));
  return (x < 0.0f ? -static_cast<double>(x) : 0.0) + PortableLog(1.0 + e);
}

WINNOW_EACH_INSTRUCTION_SET
void LogisticSingles(const LossRule& rule, Singles* rows) {
  for (int r = 0; r < kLossBlock; ++r) {
    const float x = rows->output[r];
    const float y = rows->label[r] * (1.0f - rule.smoothing) + rule.smoothing * 0.5f;
    rows->slope[r] = Sigmoid(x) - y;
    rows->loss[r] = static_cast<float>(SoftPlusOfMinus(x) + (1.0 - static_cast<double>(y)) * x);
  }
}

WINNOW_EACH_INSTRUCTION_SET
void AddLogisticTeacher(const LossRule& rule, Singles* rows) {
  const float w = rule.teacher_weight, t = rule.temperature, cooling = 1.0f / t;
  for (int r = 0; r < kLossBlock; ++r) {
    const float x = rows->output[r] * cooling, y = rows->teacher[r] * cooling;
    const float target = Sigmoid(y);
    const double divergence =
        SoftPlusOfMinus(x) - SoftPlusOfMinus(y) +
        (1.0 - static_cast<double>(target)) * (static_cast<double>(x) - static_cast<double>(y));
    rows->slope[r] = (1.0f - w) * rows->slope[r] + w * t * (Sigmoid(x) - target);
    rows->loss[r] = (1.0f - w) * rows->loss[r] + w * t * t * static_cast<float>(divergence);
  }
}

// Residues against labels and, with `share` above 0, against the teacher's outputs.
WINNOW_EACH_INSTRUCTION_SET
void SquaredSingles(float share, Singles* rows) {
  for (int r = 0; r < kLossBlock; ++r) {
    const float d = rows->output[r] - rows->label[r], e = rows->output[r] - rows->teacher[r];
    rows->slope[r] = (1.0f - share) * (2.0f * d) + (share > 0 ? share * (2.0f * e) : 0.0f);
    rows->loss[r] = (1.0f - share) * (d * d) + (share > 0 ? share * (e * e) : 0.0f);
  }
}

WINNOW_LANES float HuberSlope(float residue, float delta) {
  return std::min(std::max(residue, -delta), delta);
}
WINNOW_LANES float HuberLoss(float residue, float delta) {
  const float size = std::fabs(residue);
  const float near = std::min(size, delta);
  return near * (size - 0.5f * near);
}

WINNOW_EACH_INSTRUCTION_SET
void HuberSingles(float share, float delta, Singles* rows) {
  for (int r = 0; r < kLossBlock; ++r) {
    const float d = rows->output[r] - rows->label[r], e = rows->output[r] - rows->teacher[r];
    rows->slope[r] =
        (1.0f - share) * HuberSlope(d, delta) + (share > 0 ? share * HuberSlope(e, delta) : 0.0f);
    rows->loss[r] = (1.0f - share) * HuberLoss(d, delta) + (share > 0 ? share * HuberLoss(e, delta) : 0.0f);
  }
}

void SinglesBlock(const LossRule& rule, const LossBatch& batch, int64_t begin, int count) {
  const bool taught = batch.teacher != nullptr && rule.teacher_weight > 0;
  const float share = taught ? rule.teacher_weight : 0.0f;
  Singles rows;
  for (int r = 0; r < count; ++r) {
    rows.output[r] = batch.outputs[(begin + r) * batch.stride];
    rows.label[r] = batch.label[begin + r];
    if (taught) rows.teacher[r] = batch.teacher[(begin + r) * batch.stride];
  }
  if (rule.kind == LossKind::kLogistic) {
    LogisticSingles(rule, &rows);
    if (taught) AddLogisticTeacher(rule, &rows);
  } else if (rule.kind == LossKind::kSquared) {
    SquaredSingles(share, &rows);
  } else {
    HuberSingles(share, rule.huber_delta, &rows);
  }
  for (int r = 0; r < count; ++r) {
    const int64_t row = begin + r;
    const float x = rows.output[r];
    if (batch.loss != nullptr) batch.loss[row] = rows.loss[r] + (x - x);
    if (batch.before != nullptr)
      batch.before[row] = rule.kind != LossKind::kLogistic || (rows.label[r] > 0.5f ? x > 0 : x <= 0) ? 0 : 1;
    if (batch.delta == nullptr) continue;
    float* delta = batch.delta + row * batch.stride;
    std::fill_n(delta, kPanel, 0.0f);
    delta[0] = rows.slope[r] * (batch.scale * (batch.weight == nullptr ? 1.0f : batch.weight[row]));
  }
}

}  // namespace

LossRule MakeLossRule(const MlpParameters& parameters, int outputs, bool taught) {
  LossRule rule;
  rule.kind = parameters.loss;
  rule.outputs = outputs;
  rule.smoothing = static_cast<float>(parameters.label_smoothing);
  rule.huber_delta = static_cast<float>(parameters.huber_delta);
  rule.teacher_weight = taught ? static_cast<float>(parameters.teacher_weight) : 0.0f;
  rule.temperature = static_cast<float>(parameters.teacher_temperature);
  return rule;
}

void LossRows(const LossRule& rule, const LossBatch& batch) {
  const bool of_classes = rule.kind == LossKind::kCrossEntropy;
  if (of_classes && batch.teacher != nullptr && rule.teacher_weight > 0) return DistilledRows(rule, batch);
  for (int64_t begin = 0; begin < batch.rows; begin += kLossBlock) {
    const int count = static_cast<int>(std::min<int64_t>(kLossBlock, batch.rows - begin));
    of_classes ? CrossEntropyBlock(rule, batch, begin, count) : SinglesBlock(rule, batch, begin, count);
  }
}

}  // namespace winnow::mlp
