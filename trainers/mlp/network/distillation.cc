#include "trainers/mlp/network/distillation.h"

#include <algorithm>

#include "fmt/format.h"
#include "trainers/common/instruction_sets.h"
#include "trainers/mlp/network/loss_lanes.h"

namespace winnow::mlp {
namespace {

// One row's sums; "soft" ones are at the rule's temperature.
struct Sums {
  float top = kNoOutput, teacher_top = kNoOutput, outputs = 0;
  float others = 0;      // e^(output - top) of all classes but the label's
  float soft = 0;        // e^((output - top) / T)
  float teacher = 0;     // e^((t - teacher_top) / T)
  float difference = 0;  // sum of the last times (t - teacher_top - output + top) / T
  double total = 0;      // others and the label's
};

// Outputs [p, p + 16) of a row and its teacher, and their exponentials.
struct Row {
  WINNOW_LANES Row(const LossRule& rule, const float* outputs, const float* teacher_outputs, float top,
                   float teacher_top, int p) {
    const int left = rule.outputs - p;
    const float cooling = 1.0f / rule.temperature;
    LoadFirst(outputs + p, left, top, &x);
    LoadFirst(teacher_outputs + p, left, teacher_top, &t);
    ExpBelow(x, top, 1.0f, left, &e);
    ExpBelow(x, top, cooling, left, &soft);
    ExpBelow(t, teacher_top, cooling, left, &teacher);
  }

  Lanes x, t;
  Lanes e, soft, teacher;
};

WINNOW_LANES Sums ReadRow(const LossRule& rule, const float* outputs, const float* teacher, int label_class) {
  const int k = rule.outputs;
  const float cooling = 1.0f / rule.temperature;
  Sums sums;
  Lanes top = Lanes{} + kNoOutput, teacher_top = top, plain = {};
  for (int p = 0; p < k; p += kPanel) {
    Lanes x, t;
    LoadFirst(outputs + p, k - p, kNoOutput, &x);
    LoadFirst(teacher + p, k - p, kNoOutput, &t);
    KeepLarger(x, &top);
    KeepLarger(t, &teacher_top);
    plain += kLaneNumber < static_cast<float>(k - p) ? x : Lanes{};
  }
  sums.top = LargestOfLanes(top);
  sums.teacher_top = LargestOfLanes(teacher_top);
  Lanes others = {}, soft = {}, of_teacher = {}, difference = {};
  for (int p = 0; p < k; p += kPanel) {
    const Row row(rule, outputs, teacher, sums.top, sums.teacher_top, p);
    others += kLaneNumber == static_cast<float>(label_class - p) ? Lanes{} : row.e;
    soft += row.soft;
    of_teacher += row.teacher;
    difference += row.teacher * (((row.t - sums.teacher_top) - (row.x - sums.top)) * cooling);
  }
  sums.outputs = SumOfLanes(plain);
  sums.others = SumOfLanes(others);
  sums.soft = SumOfLanes(soft);
  sums.teacher = SumOfLanes(of_teacher);
  sums.difference = SumOfLanes(difference);
  const float e_label = label_class < 0 ? 0.0f : PortableExp(outputs[label_class] - sums.top);
  sums.total = static_cast<double>(sums.others) + static_cast<double>(e_label);
  return sums;
}

WINNOW_LANES void WriteDelta(const LossRule& rule, const float* outputs, const float* teacher,
                             int label_class, const Sums& sums, float factor, float* delta) {
  const int k = rule.outputs;
  const float w = rule.teacher_weight;
  const float inverse = static_cast<float>(1.0 / sums.total),
              everyone = rule.smoothing / static_cast<float>(k);
  const float of_label = rule.smoothing - everyone - sums.others * inverse;
  const float soft_scale = 1.0f / sums.soft, teacher_scale = 1.0f / sums.teacher;
  for (int p = 0; p < k; p += kPanel) {
    const Row row(rule, outputs, teacher, sums.top, sums.teacher_top, p);
    const Lanes hard =
        kLaneNumber == static_cast<float>(label_class - p) ? Lanes{} + of_label : row.e * inverse - everyone;
    const Lanes taught = rule.temperature * (row.soft * soft_scale - row.teacher * teacher_scale);
    Store(kLaneNumber < static_cast<float>(k - p) ? ((1.0f - w) * hard + w * taught) * factor : Lanes{},
          delta + p);
  }
}

float RowLoss(const LossRule& rule, float of_label, const Sums& sums) {
  const double smoothing = rule.smoothing, w = rule.teacher_weight, t = rule.temperature;
  const double all = PortableLog(sums.total), top = sums.top, sum = sums.outputs;
  const double hard = (1.0 - smoothing) * (all + (top - static_cast<double>(of_label))) +
                      smoothing * (all + top) - smoothing / rule.outputs * sum;
  const double divergence = static_cast<double>(sums.difference) / static_cast<double>(sums.teacher) -
                            PortableLog(static_cast<double>(sums.teacher)) +
                            PortableLog(static_cast<double>(sums.soft));
  return static_cast<float>((1.0 - w) * hard + w * t * t * divergence + (sum - sum));
}

int32_t CountBefore(const float* outputs, int k, int label_class) {
  if (label_class < 0) return k;
  int32_t count = 0;
  for (int i = 0; i < k; ++i) {
    const bool behind =
        outputs[i] < outputs[label_class] || (outputs[i] == outputs[label_class] && i >= label_class);
    count += behind ? 0 : 1;
  }
  return count;
}

std::string_view NameOf(LossKind loss) {
  switch (loss) {
    case LossKind::kCrossEntropy:
      return "classes";
    case LossKind::kLogistic:
      return "two classes (logistic)";
    default:
      return "regression";
  }
}

bool Regresses(LossKind loss) { return loss == LossKind::kSquared || loss == LossKind::kHuber; }

}  // namespace

WINNOW_EACH_INSTRUCTION_SET
void DistilledRows(const LossRule& rule, const LossBatch& batch) {
  for (int64_t row = 0; row < batch.rows; ++row) {
    const float* outputs = batch.outputs + row * batch.stride;
    const float* teacher = batch.teacher + row * batch.stride;
    const int label_class = ClassOf(batch.label[row], rule.outputs);
    const Sums sums = ReadRow(rule, outputs, teacher, label_class);
    if (batch.before != nullptr) batch.before[row] = CountBefore(outputs, rule.outputs, label_class);
    if (batch.loss != nullptr)
      batch.loss[row] = RowLoss(rule, label_class < 0 ? kNoOutput : outputs[label_class], sums);
    if (batch.delta == nullptr) continue;
    const float factor = batch.scale * (batch.weight == nullptr ? 1.0f : batch.weight[row]);
    WriteDelta(rule, outputs, teacher, label_class, sums, factor, batch.delta + row * batch.stride);
  }
}

absl::Status CheckTeacher(const MlpParameters& parameters, int inputs, int outputs, LossKind teacher_loss,
                          int teacher_inputs, int teacher_outputs) {
  if (teacher_inputs != inputs) {
    return absl::InvalidArgumentError(fmt::format(
        "teacher: its model takes {} features; the training data have {}", teacher_inputs, inputs));
  }
  const bool alike =
      teacher_loss == parameters.loss || (Regresses(teacher_loss) && Regresses(parameters.loss));
  if (!alike) {
    return absl::InvalidArgumentError(fmt::format("teacher: its model is for {}; this one is for {}",
                                                  NameOf(teacher_loss), NameOf(parameters.loss)));
  }
  if (teacher_outputs != outputs) {
    return absl::InvalidArgumentError(
        fmt::format("teacher: its model has {} outputs; this one has {}", teacher_outputs, outputs));
  }
  return absl::OkStatus();
}

}  // namespace winnow::mlp
