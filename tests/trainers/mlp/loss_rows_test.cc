#include "trainers/mlp/network/loss_rows.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/hash.h"
#include "tests/catch.h"
#include "trainers/mlp/network/distillation.h"
#include "trainers/mlp/network/network.h"

namespace winnow::mlp {
namespace {

struct Sample {
  int rows = 0, outputs = 0;
  int64_t stride = 0;
  std::vector<float> output, teacher, label, weight, delta, loss;
  std::vector<int32_t> before;

  LossBatch Batch(bool taught) {
    delta.assign(output.size(), 7);
    loss.assign(rows, 7);
    before.assign(rows, 7);
    return {
        rows,  stride,       output.data(), label.data(), weight.data(), taught ? teacher.data() : nullptr,
        0.25f, delta.data(), loss.data(),   before.data()};
  }
};

// Numbers in [-5, 5] also where no output is.
Sample MakeSample(LossKind kind, int rows, int outputs) {
  Sample sample{rows, outputs, PaddedTo(outputs, kPanel) + kPanel, {}, {}, {}, {}, {}, {}, {}};
  const auto draw = [](uint64_t a, uint64_t b) { return static_cast<double>(HashOf(a, b) >> 11) * 0x1p-53; };
  for (int64_t i = 0; i < rows * sample.stride; ++i) {
    sample.output.push_back(static_cast<float>(draw(1, i) * 10 - 5));
    sample.teacher.push_back(static_cast<float>(draw(2, i) * 10 - 5));
  }
  for (int r = 0; r < rows; ++r) {
    const double u = draw(3, r);
    sample.weight.push_back(static_cast<float>(0.5 + draw(4, r)));
    sample.label.push_back(static_cast<float>(kind == LossKind::kCrossEntropy ? std::floor(u * outputs)
                                              : kind == LossKind::kLogistic   ? std::floor(u * 2)
                                                                              : u * 6 - 3));
  }
  return sample;
}

double LogSumExp(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += std::exp(value);
  return std::log(sum);
}

double ClassLoss(const LossRule& rule, const std::vector<double>& x, int label) {
  const double all = LogSumExp(x);
  double loss = (1.0 - rule.smoothing) * (all - x[label]);
  for (const double value : x) loss += rule.smoothing / rule.outputs * (all - value);
  return loss;
}

double Divergence(double temperature, std::vector<double> x, std::vector<double> t) {
  for (double& value : x) value /= temperature;
  for (double& value : t) value /= temperature;
  double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k)
    sum += std::exp(t[k] - LogSumExp(t)) * ((t[k] - LogSumExp(t)) - (x[k] - LogSumExp(x)));
  return sum;
}

double PlainLoss(const LossRule& rule, const std::vector<double>& x, double label) {
  switch (rule.kind) {
    case LossKind::kCrossEntropy:
      return ClassLoss(rule, x, static_cast<int>(label));
    case LossKind::kLogistic: {
      LossRule two = rule;
      two.outputs = 2;
      return ClassLoss(two, {0, x[0]}, static_cast<int>(label));
    }
    case LossKind::kSquared:
      return (x[0] - label) * (x[0] - label);
    default: {
      const double size = std::abs(x[0] - label), d = rule.huber_delta;
      return size <= d ? 0.5 * size * size : d * (size - 0.5 * d);
    }
  }
}

// From the definitions, in double.
double Expected(const LossRule& rule, const std::vector<double>& x, double label,
                const std::vector<double>& t) {
  const double w = rule.teacher_weight, temperature = rule.temperature;
  if (w == 0) return PlainLoss(rule, x, label);
  double taught = 0;
  if (rule.kind == LossKind::kCrossEntropy) {
    taught = temperature * temperature * Divergence(temperature, x, t);
  } else if (rule.kind == LossKind::kLogistic) {
    taught = temperature * temperature * Divergence(temperature, {0, x[0]}, {0, t[0]});
  } else {
    taught = PlainLoss(rule, x, t[0]);
  }
  return (1 - w) * PlainLoss(rule, x, label) + w * taught;
}

std::vector<double> RowOf(const std::vector<float>& values, const Sample& sample, int row) {
  const auto begin = values.begin() + row * sample.stride;
  return {begin, begin + sample.outputs};
}

void CheckAgainstDefinition(const LossRule& rule, int rows) {
  constexpr double kStep = 1e-5;
  Sample sample = MakeSample(rule.kind, rows, rule.outputs);
  LossRows(rule, sample.Batch(rule.teacher_weight > 0));
  for (int r = 0; r < rows; ++r) {
    std::vector<double> x = RowOf(sample.output, sample, r);
    const std::vector<double> t = RowOf(sample.teacher, sample, r);
    CHECK(sample.loss[r] == Approx(Expected(rule, x, sample.label[r], t)).epsilon(1e-5).margin(1e-6));
    for (int k = 0; k < rule.outputs; ++k) {
      const double at = x[k];
      x[k] = at + kStep;
      const double above = Expected(rule, x, sample.label[r], t);
      x[k] = at - kStep;
      const double slope = (above - Expected(rule, x, sample.label[r], t)) / (2 * kStep);
      x[k] = at;
      CHECK(sample.delta[r * sample.stride + k] ==
            Approx(slope * sample.weight[r] * 0.25).epsilon(1e-4).margin(1e-6));
    }
    for (int k = rule.outputs; k < PaddedTo(rule.outputs, kPanel); ++k)
      CHECK(sample.delta[r * sample.stride + k] == 0);
  }
}

TEST_CASE("LossRows: losses and slopes are those of the definitions", "[mlp]") {
  const auto kind =
      GENERATE(LossKind::kCrossEntropy, LossKind::kLogistic, LossKind::kSquared, LossKind::kHuber);
  const float smoothing = GENERATE(0.0f, 0.1f);
  for (const int outputs : {1, 2, 10, 16, 17, 40}) {
    if (outputs != 1 && kind != LossKind::kCrossEntropy) continue;
    LossRule rule;
    rule.kind = kind;
    rule.outputs = outputs;
    rule.smoothing = smoothing;
    rule.huber_delta = 0.8f;
    CheckAgainstDefinition(rule, 70);
  }
}

TEST_CASE("LossRows: with a teacher, losses and slopes are those of distillation", "[mlp]") {
  const auto kind =
      GENERATE(LossKind::kCrossEntropy, LossKind::kLogistic, LossKind::kSquared, LossKind::kHuber);
  for (const float temperature : {1.0f, 4.0f}) {
    LossRule rule;
    rule.kind = kind;
    rule.outputs = kind == LossKind::kCrossEntropy ? 19 : 1;
    rule.smoothing = 0.05f;
    rule.teacher_weight = 0.3f;
    rule.temperature = temperature;
    CheckAgainstDefinition(rule, 70);
  }
}

TEST_CASE("LossRows: the bits do not depend on how rows are cut into batches", "[mlp]") {
  const auto kind = GENERATE(LossKind::kCrossEntropy, LossKind::kLogistic, LossKind::kHuber);
  const bool taught = GENERATE(false, true);
  LossRule rule;
  rule.kind = kind;
  rule.outputs = kind == LossKind::kCrossEntropy ? 10 : 1;
  rule.teacher_weight = taught ? 0.5f : 0.0f;
  Sample whole = MakeSample(kind, 130, rule.outputs), single = whole;
  LossRows(rule, whole.Batch(taught));
  LossBatch batch = single.Batch(taught);
  batch.rows = 1;
  for (int r = 0; r < 130; ++r) {
    LossRows(rule, batch);
    batch.outputs += batch.stride;
    batch.delta += batch.stride;
    if (batch.teacher != nullptr) batch.teacher += batch.stride;
    ++batch.label, ++batch.weight, ++batch.loss, ++batch.before;
  }
  CHECK(whole.loss == single.loss);
  CHECK(whole.delta == single.delta);
  CHECK(whole.before == single.before);
}

TEST_CASE("LossRows: deltas may take the outputs' place", "[mlp]") {
  const float teacher_weight = GENERATE(0.0f, 0.5f);
  LossRule rule;
  rule.outputs = 20;
  rule.teacher_weight = teacher_weight;
  Sample apart = MakeSample(LossKind::kCrossEntropy, 9, 20), within = apart;
  LossRows(rule, apart.Batch(teacher_weight > 0));
  LossBatch batch = within.Batch(teacher_weight > 0);
  batch.delta = within.output.data();
  LossRows(rule, batch);
  CHECK(within.loss == apart.loss);
  for (int r = 0; r < 9; ++r) CHECK(RowOf(within.output, within, r) == RowOf(apart.delta, apart, r));
}

TEST_CASE("LossRows: outputs before the label's are counted, equal ones by their place", "[mlp]") {
  std::vector<float> output(2 * 32, 1e30f), teacher(2 * 32, 0);
  const float values[] = {1, 3, 2, 3, 0, 3};
  for (int k = 0; k < 18; ++k) output[k] = output[32 + k] = k < 6 ? values[k] : -1;
  const float label[] = {3, 2};
  int32_t before[2];
  LossRule rule;
  rule.outputs = 18;
  LossBatch batch;
  batch.rows = 2;
  batch.stride = 32;
  batch.outputs = output.data();
  batch.label = label;
  batch.before = before;
  for (const float* of_teacher :
       {static_cast<const float*>(nullptr), static_cast<const float*>(teacher.data())}) {
    batch.teacher = of_teacher;
    rule.teacher_weight = of_teacher == nullptr ? 0.0f : 0.5f;
    LossRows(rule, batch);
    CHECK(before[0] == 1);
    CHECK(before[1] == 3);
  }
}

TEST_CASE("LossRows: a confident row's loss and slope keep their digits", "[mlp]") {
  std::vector<float> output(16, 0), delta(16);
  output[1] = 20;
  const float label = 1;
  float loss = 0;
  LossRule rule;
  rule.outputs = 2;
  LossBatch batch;
  batch.rows = 1;
  batch.outputs = output.data();
  batch.label = &label;
  batch.loss = &loss;
  batch.delta = delta.data();
  LossRows(rule, batch);
  CHECK(loss == Approx(std::exp(-20.0)).epsilon(1e-5).margin(0));
  CHECK(delta[1] == Approx(-std::exp(-20.0)).epsilon(1e-5).margin(0));
}

TEST_CASE("LossRows: the loss of an output that is not finite is not finite", "[mlp]") {
  const auto kind =
      GENERATE(LossKind::kCrossEntropy, LossKind::kLogistic, LossKind::kSquared, LossKind::kHuber);
  const float teacher_weight = GENERATE(0.0f, 0.5f);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    LossRule rule;
    rule.kind = kind;
    rule.outputs = kind == LossKind::kCrossEntropy ? 10 : 1;
    rule.teacher_weight = teacher_weight;
    Sample sample = MakeSample(kind, 3, rule.outputs);
    sample.output[1 * sample.stride + (rule.outputs - 1)] = bad;
    LossRows(rule, sample.Batch(teacher_weight > 0));
    CHECK(std::isfinite(sample.loss[0]));
    CHECK_FALSE(std::isfinite(sample.loss[1]));
    CHECK(std::isfinite(sample.loss[2]));
  }
}

TEST_CASE("Distillation: a teacher of another shape is refused", "[mlp]") {
  MlpParameters parameters;
  CHECK(CheckTeacher(parameters, 784, 10, LossKind::kCrossEntropy, 784, 10).ok());
  const auto error = [&](LossKind loss, int inputs, int outputs) {
    return std::string(CheckTeacher(parameters, 784, 10, loss, inputs, outputs).message());
  };
  CHECK(error(LossKind::kCrossEntropy, 20, 10) ==
        "teacher: its model takes 20 features; the training data have 784");
  CHECK(error(LossKind::kCrossEntropy, 784, 3) == "teacher: its model has 3 outputs; this one has 10");
  CHECK(error(LossKind::kSquared, 784, 10) ==
        "teacher: its model is for regression; this one is for classes");
  parameters.loss = LossKind::kHuber;
  CHECK(CheckTeacher(parameters, 4, 1, LossKind::kSquared, 4, 1).ok());
}

}  // namespace
}  // namespace winnow::mlp
