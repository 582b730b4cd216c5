#include "trainers/mlp/data/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace winnow::mlp {
namespace {

// Keeps weighted sums of as many rows as fit in memory within the range of float.
constexpr float kLargestWeight = 1e12f;
// Keeps squares of labels and similar values within the range of float.
constexpr float kLargestLabel = 1e15f;
constexpr int kMostClasses = 65'536;  // as of num_class

absl::Status CheckWeights(const DenseData& data, const std::string& path) {
  const auto bad = std::find_if(data.weight.begin(), data.weight.end(),
                                [](float weight) { return !(weight >= 0 && weight <= kLargestWeight); });
  if (bad != data.weight.end())
    return absl::InvalidArgumentError(fmt::format("{}: row {}: weight = {}: expected a number from 0 to 1e12",
                                                  path, bad - data.weight.begin() + 1, *bad));
  const bool none =
      std::all_of(data.weight.begin(), data.weight.end(), [](float weight) { return weight == 0; });
  if (!data.weight.empty() && none)
    return absl::InvalidArgumentError(path + ": every weight is 0: expected some above 0");
  return absl::OkStatus();
}

template <typename Takes>
absl::Status CheckLabels(const DenseData& data, const std::string& path, const Takes& takes,
                         const std::string& expected) {
  const auto bad = std::find_if_not(data.label.begin(), data.label.end(), takes);
  if (bad == data.label.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}: row {}: label = {}: expected {}", path, bad - data.label.begin() + 1, *bad, expected));
}

bool IsClass(float label, double classes) {
  return label >= 0 && static_cast<double>(label) < classes && std::floor(label) == label;
}

}  // namespace

absl::Status CheckTargets(const MlpParameters& parameters, int outputs, const DenseData& data,
                          const std::string& path) {
  if (absl::Status status = CheckWeights(data, path); !status.ok()) return status;
  switch (parameters.loss) {
    case LossKind::kCrossEntropy:
      return CheckLabels(
          data, path, [&](float label) { return IsClass(label, outputs); },
          parameters.num_class > 0
              ? fmt::format("a class from 0 to {} with num_class {}", outputs - 1, outputs)
              : fmt::format("a class from 0 to {}, as in the training data", outputs - 1));
    case LossKind::kLogistic:
      return CheckLabels(
          data, path, [](float label) { return label == 0 || label == 1; }, "0 or 1 with loss logistic");
    default:
      return CheckLabels(
          data, path, [](float label) { return std::abs(label) <= kLargestLabel; },
          "a number from -1e15 to 1e15");
  }
}

absl::StatusOr<int> OutputsFor(const MlpParameters& parameters, const FeatureSchema& schema,
                               const DenseData& train, const std::string& path) {
  const int levels = static_cast<int>(schema.label_levels.size());
  int outputs = 1;
  if (parameters.loss == LossKind::kSquared || parameters.loss == LossKind::kHuber) {
    if (levels > 0)
      return absl::InvalidArgumentError(
          fmt::format("{}: the label column is text (\"{}\" is one of its values): expected numbers for "
                      "regression",
                      path, schema.label_levels[0]));
  } else if (parameters.loss == LossKind::kLogistic) {
    if (levels > 2)
      return absl::InvalidArgumentError(
          fmt::format("{}: the label column has {} texts: expected 2 with loss logistic", path, levels));
  } else if (parameters.num_class > 0) {
    outputs = parameters.num_class;
    if (levels > outputs)
      return absl::InvalidArgumentError(fmt::format(
          "{}: the label column has {} texts: expected at most num_class = {}", path, levels, outputs));
  } else if (levels > 0) {
    outputs = levels;
  } else {
    // More classes than rows nearly always mean that the label is not a class.
    const auto most = static_cast<double>(std::min<int64_t>(train.rows, kMostClasses));
    const absl::Status classes = CheckLabels(
        train, path, [&](float label) { return IsClass(label, most); },
        fmt::format(
            "a class from 0 to {}, as there are {} rows (else give num_class; for numbers, another loss)",
            static_cast<int64_t>(most) - 1, train.rows));
    if (!classes.ok()) return classes;
    outputs = static_cast<int>(*std::max_element(train.label.begin(), train.label.end())) + 1;
  }
  if (parameters.loss == LossKind::kCrossEntropy && outputs < 2)
    return absl::InvalidArgumentError(
        path + ": the labels are of one class: expected two or more with cross entropy");
  if (absl::Status status = CheckTargets(parameters, outputs, train, path); !status.ok()) return status;
  return outputs;
}

}  // namespace winnow::mlp
