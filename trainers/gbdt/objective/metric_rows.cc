#include "trainers/gbdt/objective/metric.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "trainers/common/exact_sum.h"
#include "trainers/common/instruction_sets.h"
#include "trainers/common/portable_math.h"
#include "trainers/gbdt/objective/objective.h"

namespace winnow::gbdt {
namespace {

constexpr int64_t kBlock = 2048;             // rows at a time, so that their predictions stay in a near cache
constexpr float kLeastProbability = 1e-16f;  // these three as XGBoost
constexpr double kLeastGamma = 1e-6;
constexpr double kDevianceShift = 1e-6;

struct LossRows {
  const float* label;
  const float* prediction;
  double* loss;
  int64_t count;
};

// For labels of 0 or 1.
WINNOW_EACH_INSTRUCTION_SET void HardLogLoss(const LossRows& rows) {
  const float* __restrict__ label = rows.label;
  const float* __restrict__ prediction = rows.prediction;
  double* __restrict__ loss = rows.loss;
  for (int64_t i = 0; i < rows.count; ++i) {
    const float right = label[i] == 1.0f ? prediction[i] : 1.0f - prediction[i];
    loss[i] = -PortableLog(std::max(right, kLeastProbability));
  }
}

WINNOW_EACH_INSTRUCTION_SET void SoftLogLoss(const LossRows& rows) {
  for (int64_t i = 0; i < rows.count; ++i) {
    const double label = rows.label[i];
    const float p = std::max(rows.prediction[i], kLeastProbability);
    const float q = std::max(1.0f - rows.prediction[i], kLeastProbability);
    // A side without weight adds 0, whatever its logarithm.
    rows.loss[i] = -label * PortableLog(p) - (1.0 - label) * PortableLog(q);
  }
}

void LogLoss(const LossRows& rows) {
  int64_t soft = 0;
  for (int64_t i = 0; i < rows.count; ++i) soft += rows.label[i] != 0.0f && rows.label[i] != 1.0f ? 1 : 0;
  soft > 0 ? SoftLogLoss(rows) : HardLogLoss(rows);
}

WINNOW_EACH_INSTRUCTION_SET void SquaredError(const LossRows& rows) {
  for (int64_t i = 0; i < rows.count; ++i) {
    const double residue = static_cast<double>(rows.label[i]) - static_cast<double>(rows.prediction[i]);
    rows.loss[i] = residue * residue;
  }
}

WINNOW_EACH_INSTRUCTION_SET void AbsoluteError(const LossRows& rows) {
  for (int64_t i = 0; i < rows.count; ++i)
    rows.loss[i] = std::fabs(static_cast<double>(rows.label[i]) - static_cast<double>(rows.prediction[i]));
}

WINNOW_EACH_INSTRUCTION_SET void WrongSide(const LossRows& rows, float threshold) {
  for (int64_t i = 0; i < rows.count; ++i)
    rows.loss[i] = rows.prediction[i] > threshold ? 1.0f - rows.label[i] : rows.label[i];
}

// A row without weight adds 0, even if its loss is infinite.
WINNOW_EACH_INSTRUCTION_SET void MultiplyLosses(const float* weight, int64_t count, double* loss) {
  for (int64_t i = 0; i < count; ++i)
    loss[i] = weight[i] == 0.0f ? 0.0 : loss[i] * static_cast<double>(weight[i]);
}

template <typename Loss>
void EachRow(const LossRows& rows, const Loss& loss) {
  for (int64_t i = 0; i < rows.count; ++i)
    rows.loss[i] = loss(static_cast<double>(rows.label[i]), static_cast<double>(rows.prediction[i]));
}

// ln Gamma; unlike std::lgamma it does not write a sign to a variable shared by all threads.
double LogGamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

double TweedieLoss(double power, double label, double prediction) {
  const double log = std::log(prediction);
  // The limit at power 1, where XGBoost has no value.
  const double a = power == 1 ? label * log : label * std::exp((1 - power) * log) / (1 - power);
  return std::exp((2 - power) * log) / (2 - power) - a;
}

void Losses(const Metric& metric, const GbdtParameters& parameters, const LossRows& rows) {
  switch (metric.kind) {
    case Metric::kLogLoss:
      return LogLoss(rows);
    case Metric::kError:
    case Metric::kAccuracy:  // what remains of 1
      return WrongSide(rows, static_cast<float>(metric.at.value_or(0.5)));
    case Metric::kRmse:
    case Metric::kMse:
      return SquaredError(rows);
    case Metric::kMae:
      return AbsoluteError(rows);
    case Metric::kRmsle:
      return EachRow(rows, [](double y, double p) {
        const double residue = std::log1p(y) - std::log1p(p);
        return residue * residue;
      });
    case Metric::kMape:
      return EachRow(rows, [](double y, double p) { return std::fabs((y - p) / y); });
    case Metric::kPseudoHuber:
      return EachRow(rows, [slope = parameters.huber_slope](double y, double p) {
        const double a = (y - p) / slope;
        return slope * slope * (std::sqrt(1 + a * a) - 1);
      });
    case Metric::kPoissonLoss:
      return EachRow(rows, [](double y, double p) {
        p = std::max(p, static_cast<double>(kLeastProbability));
        return LogGamma(y + 1) + p - std::log(p) * y;
      });
    case Metric::kGammaLoss:
      return EachRow(rows, [](double y, double p) {
        p = std::max(p, kLeastGamma);
        return y / p + std::log(p);
      });
    case Metric::kGammaDeviance:
      return EachRow(rows, [](double y, double p) {
        const double ratio = (y + kDevianceShift) / (p + kDevianceShift);
        return 2 * (ratio - 1 - std::log(ratio));
      });
    case Metric::kTweedieLoss:
      return EachRow(rows, [power = metric.at.value_or(parameters.tweedie_variance_power)](
                               double y, double p) { return TweedieLoss(power, y, p); });
    case Metric::kQuantile:
      return EachRow(rows, [alpha = parameters.quantile_alpha](double y, double p) {
        return y >= p ? alpha * (y - p) : (1 - alpha) * (p - y);
      });
    default:
      WINNOW_UNREACHABLE("metrics that are no sum over rows are computed elsewhere");
  }
}

// 1 if the first of the largest margins is another class's.
void ClassErrors(const LossRows& rows, const float* margin, int64_t stride, int classes) {
  for (int64_t i = 0; i < rows.count; ++i) {
    int best = 0;
    for (int k = 1; k < classes; ++k) {
      if (margin[k * stride + i] > margin[best * stride + i]) best = k;
    }
    rows.loss[i] = best == static_cast<int>(rows.label[i]) ? 0 : 1;
  }
}

// Uses probabilities in [class][row of the block].
void ClassLogLoss(const LossRows& rows) {
  for (int64_t i = 0; i < rows.count; ++i) {
    const int64_t truth = static_cast<int64_t>(rows.label[i]);
    rows.loss[i] = -PortableLog(std::max(rows.prediction[truth * rows.count + i], kLeastProbability));
  }
}

}  // namespace

absl::StatusOr<double> RowMetric(const Metric& metric, const GbdtParameters& parameters,
                                 const Targets& targets, std::span<const float> margin,
                                 Communicator* communicator) {
  const int classes = parameters.classes();
  const int64_t n = targets.rows;
  std::vector<double> losses(n);
  std::vector<float> predictions(kBlock * classes);
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    const LossRows rows{targets.label.data() + begin, predictions.data(), losses.data() + begin, end - begin};
    if (metric.kind == Metric::kMultiError || (metric.kind == Metric::kAccuracy && parameters.multi())) {
      ClassErrors(rows, margin.data() + begin, n, classes);
      continue;
    }
    MetricPredictions(parameters, margin, n, begin, end, predictions.data());
    if (metric.kind == Metric::kMultiLogLoss)
      ClassLogLoss(rows);
    else
      Losses(metric, parameters, rows);
  }
  std::vector<double> weights = {static_cast<double>(n)};
  if (!targets.weight.empty()) {
    const std::vector<float> of_rows = RowWeights(targets);
    MultiplyLosses(of_rows.data(), n, losses.data());
    weights.assign(of_rows.begin(), of_rows.end());
  }
  const auto sums = ExactSums({losses, weights}, communicator);
  if (!sums.ok()) return sums.status();
  if ((*sums)[1] == 0) return std::numeric_limits<double>::quiet_NaN();
  const double mean = (*sums)[0] / (*sums)[1];
  if (metric.kind == Metric::kAccuracy) return 1 - mean;
  return metric.kind == Metric::kRmse || metric.kind == Metric::kRmsle ? std::sqrt(mean) : mean;
}

}  // namespace winnow::gbdt
