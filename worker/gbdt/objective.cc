#include "worker/gbdt/objective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace winnow {
namespace {

constexpr float kMinHessian = 1e-16f;  // as XGBoost, so that no row is without one
// Their product, and scale_pos_weight's, stay within a float.
constexpr float kLargestLabel = 1e15f;
constexpr float kLargestWeight = 1e12f;

void LogisticGradients(const GbdtParameters& p, const DataSet& data, const float* margin, int64_t begin,
                       int64_t end, float* gradient, float* hessian) {
  const float* label = data.label.data();
  const float positive = static_cast<float>(p.scale_pos_weight);
  for (int64_t i = begin; i < end; ++i) {
    const float prediction = Sigmoid(margin[i]);
    const float weight = label[i] == 1.0f ? positive : 1.0f;
    gradient[i] = (prediction - label[i]) * weight;
    hessian[i] = std::max(prediction * (1.0f - prediction), kMinHessian) * weight;
  }
}

void SoftmaxRow(const float* margin, int64_t rows, int classes, float* out, int64_t out_step) {
  float highest = margin[0];
  for (int k = 1; k < classes; ++k) highest = std::max(highest, margin[k * rows]);
  float sum = 0;
  for (int k = 0; k < classes; ++k) sum += out[k * out_step] = PortableExp(margin[k * rows] - highest);
  for (int k = 0; k < classes; ++k) out[k * out_step] /= sum;
}

void SoftmaxGradients(const DataSet& data, int classes, const float* margin, int64_t begin, int64_t end,
                      float* gradient, float* hessian) {
  const int64_t rows = data.rows;
  for (int64_t i = begin; i < end; ++i) {
    SoftmaxRow(margin + i, rows, classes, gradient + i, rows);
    const int truth = static_cast<int>(data.label[i]);
    for (int k = 0; k < classes; ++k) {
      const float probability = gradient[k * rows + i];
      hessian[k * rows + i] = std::max(2.0f * probability * (1.0f - probability), kMinHessian);
      gradient[k * rows + i] = k == truth ? probability - 1.0f : probability;
    }
  }
}

}  // namespace

float BaseMargin(const GbdtParameters& parameters) {
  switch (parameters.objective) {
    case ObjectiveKind::kBinaryLogistic:
      return static_cast<float>(-std::log(1.0 / parameters.base_score - 1.0));
    case ObjectiveKind::kBinaryLogitRaw:  // as XGBoost: its scale is the margin's
    case ObjectiveKind::kSquaredError:
    case ObjectiveKind::kSoftProb:
      return static_cast<float>(parameters.base_score);
    default:
      return static_cast<float>(parameters.base_score);
  }
}

absl::Status CheckLabels(const GbdtParameters& parameters, const DataSet& data) {
  if (static_cast<int64_t>(data.label.size()) != data.rows)
    return absl::InvalidArgumentError("the data has no label column");
  const std::string objective = ObjectiveName(parameters.objective);
  for (int64_t i = 0; i < data.rows; ++i) {
    const float label = data.label[i];
    if (!(std::fabs(label) <= kLargestLabel))
      return absl::InvalidArgumentError(
          fmt::format("row {}: label = {}: expected a number from -1e15 to 1e15", i + 1, label));
    switch (parameters.objective) {
      case ObjectiveKind::kBinaryLogistic:
      case ObjectiveKind::kBinaryLogitRaw:
        if (!(label >= 0 && label <= 1))
          return absl::InvalidArgumentError(
              fmt::format("row {}: label = {}: expected 0 to 1 with objective {}", i + 1, label, objective));
        break;
      case ObjectiveKind::kSoftProb:
        if (!(label >= 0 && label < static_cast<float>(parameters.num_class)) || std::floor(label) != label)
          return absl::InvalidArgumentError(fmt::format(
              "row {}: label = {}: expected a class from 0 to {} with objective {} and num_class {}", i + 1,
              label, parameters.num_class - 1, objective, parameters.num_class));
        break;
      case ObjectiveKind::kSquaredError:
        break;
      default:
        return absl::UnimplementedError(fmt::format("objective {} is not trained yet", objective));
    }
  }
  for (std::size_t i = 0; i < data.weight.size(); ++i) {
    if (!(data.weight[i] >= 0 && data.weight[i] <= kLargestWeight))
      return absl::InvalidArgumentError(
          fmt::format("row {}: weight = {}: expected a number from 0 to 1e12", i + 1, data.weight[i]));
  }
  return absl::OkStatus();
}

void ComputeGradients(const GbdtParameters& parameters, const DataSet& data, const std::vector<float>& margin,
                      int64_t begin, int64_t end, std::vector<float>* gradient, std::vector<float>* hessian) {
  const int classes = parameters.classes();
  float* g = gradient->data();
  float* h = hessian->data();
  switch (parameters.objective) {
    case ObjectiveKind::kBinaryLogistic:
    case ObjectiveKind::kBinaryLogitRaw:
      LogisticGradients(parameters, data, margin.data(), begin, end, g, h);
      break;
    case ObjectiveKind::kSquaredError: {
      // As in XGBoost, scale_pos_weight weighs rows whose label is exactly 1 here too.
      const float positive = static_cast<float>(parameters.scale_pos_weight);
      for (int64_t i = begin; i < end; ++i) {
        const float weight = data.label[i] == 1.0f ? positive : 1.0f;
        g[i] = (margin[i] - data.label[i]) * weight;
        h[i] = weight;
      }
      break;
    }
    case ObjectiveKind::kSoftProb:
      SoftmaxGradients(data, classes, margin.data(), begin, end, g, h);
      break;
    default:
      break;
  }
  if (data.weight.empty()) return;
  for (int k = 0; k < classes; ++k) {
    for (int64_t i = begin; i < end; ++i) {
      g[k * data.rows + i] *= data.weight[i];
      h[k * data.rows + i] *= data.weight[i];
    }
  }
}

std::vector<float> PredictionsFrom(const GbdtParameters& parameters, const std::vector<float>& margin,
                                   int64_t rows) {
  std::vector<float> out = margin;
  if (parameters.objective == ObjectiveKind::kBinaryLogistic) {
    for (float& value : out) value = Sigmoid(value);
  } else if (parameters.objective == ObjectiveKind::kSoftProb) {
    for (int64_t i = 0; i < rows; ++i)
      SoftmaxRow(margin.data() + i, rows, parameters.classes(), out.data() + i, rows);
  }
  return out;
}

}  // namespace winnow
