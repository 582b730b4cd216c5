#include "trainers/mlp/epoch_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "trainers/mlp/network/evaluator.h"

namespace winnow::mlp {
namespace {

constexpr const char* kTrain = "train-";
constexpr const char* kValidation = "validation-";

bool IsSeenInTraining(const MlpMetric& metric, const MlpParameters& parameters) {
  switch (metric.kind) {
    case MlpMetric::Kind::kLoss:
    case MlpMetric::Kind::kAccuracy:
    case MlpMetric::Kind::kError:
      return true;
    case MlpMetric::Kind::kRmse:
      return parameters.loss == LossKind::kSquared && parameters.teacher.empty();
    default:
      return false;
  }
}

}  // namespace

EpochMetrics::EpochMetrics(const TrainingContext& context, const DenseData& train,
                           const DenseData* validation, std::vector<MlpMetric> metrics, LabelScaling labels)
    : context_(context),
      train_(train),
      validation_(validation),
      metrics_(std::move(metrics)),
      labels_(labels) {
  for (const MlpMetric& metric : metrics_) {
    if (IsSeenInTraining(metric, context.parameters)) seen_.push_back(metric);
  }
  for (const MlpMetric& metric : metrics_) {
    if (validation == nullptr && !IsSeenInTraining(metric, context.parameters)) passed_.push_back(metric);
  }
  for (const auto* part : {&seen_, &passed_}) {
    for (const MlpMetric& metric : *part) names_.push_back(kTrain + MlpMetricName(metric));
  }
  for (const MlpMetric& metric : metrics_) {
    if (validation != nullptr) names_.push_back(kValidation + MlpMetricName(metric));
  }
  names_.push_back("samples-per-second");
}

absl::StatusOr<std::vector<double>> EpochMetrics::Measure(int64_t epoch, const NetworkState& state,
                                                          const EpochResult& result, double seconds) const {
  const auto deviation = static_cast<double>(labels_.deviation);
  const double loss = result.loss * deviation * deviation;
  std::vector<double> values;
  for (const MlpMetric& metric : seen_) {
    switch (metric.kind) {
      case MlpMetric::Kind::kAccuracy:
        values.push_back(result.accuracy);
        break;
      case MlpMetric::Kind::kError:
        values.push_back(1 - result.accuracy);
        break;
      case MlpMetric::Kind::kRmse:
        values.push_back(std::sqrt(loss));
        break;
      default:
        values.push_back(loss);
    }
  }
  // The network whose outputs are labels in their own unit.
  NetworkState unscaled;
  MlpParameters parameters = context_.parameters;
  parameters.huber_delta *= deviation;
  if (labels_.scales()) {
    unscaled.parameters = state.parameters;
    unscaled.statistics = state.statistics;
    ScaleOutputs(context_.network, labels_.deviation, labels_.mean, &unscaled);
  }
  const auto add = [&](const DenseData& data, const std::vector<MlpMetric>& metrics) {
    const absl::StatusOr<std::vector<double>> measured =
        Evaluate(context_.network, parameters, labels_.scales() ? unscaled : state, data, metrics,
                 context_.ranks, context_.crew);
    if (measured.ok()) values.insert(values.end(), measured->begin(), measured->end());
    return measured.status();
  };
  if (!passed_.empty()) {
    if (absl::Status status = add(train_, passed_); !status.ok()) return status;
  }
  if (validation_ != nullptr) {
    if (absl::Status status = add(*validation_, metrics_); !status.ok()) return status;
  }
  if (absl::Status status = CheckFinite(epoch, values); !status.ok()) return status;
  // In an epoch of few rows the clock may not advance.
  constexpr double kShortest = 1e-9;
  values.push_back(std::round(static_cast<double>(result.rows_seen) / std::max(seconds, kShortest)));
  return values;
}

absl::Status EpochMetrics::CheckFinite(int64_t epoch, const std::vector<double>& values) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool ranks_classes = names_[i].ends_with("-auc");
    if (std::isfinite(static_cast<float>(values[i])) || ranks_classes) continue;
    return absl::FailedPreconditionError(
        fmt::format("{} is {} after epoch {}: the learning rate may be too high (learning_rate = {})",
                    names_[i], std::abs(values[i]), epoch, context_.parameters.learning_rate));
  }
  return absl::OkStatus();
}

std::optional<EpochMetrics::Deciding> EpochMetrics::deciding() const {
  if (validation_ == nullptr || metrics_.empty()) return std::nullopt;
  return Deciding{names_.size() - 2, HigherIsBetter(metrics_.back())};
}

}  // namespace winnow::mlp
