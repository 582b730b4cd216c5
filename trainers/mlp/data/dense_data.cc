#include "trainers/mlp/data/dense_data.h"

#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace winnow::mlp {

LabelScaling LabelScalingOf(const DenseData& data) {
  const auto weight_of = [&](std::size_t row) {
    return data.weight.empty() ? 1.0 : static_cast<double>(data.weight[row]);
  };
  double weights = 0, sum = 0, squares = 0;
  for (std::size_t row = 0; row < data.label.size(); ++row) {
    weights += weight_of(row);
    sum += weight_of(row) * static_cast<double>(data.label[row]);
  }
  const double mean = sum / weights;
  for (std::size_t row = 0; row < data.label.size(); ++row) {
    const double residue = static_cast<double>(data.label[row]) - mean;
    squares += weight_of(row) * residue * residue;
  }
  const auto deviation = static_cast<float>(std::sqrt(squares / weights));
  return {static_cast<float>(mean), deviation > 0 && std::isfinite(1 / deviation) ? deviation : 1.0f};
}

namespace {

std::vector<float> Scaled(std::span<const float> labels, const LabelScaling& scaling) {
  std::vector<float> targets;
  targets.reserve(labels.size());
  for (const float label : labels)
    targets.push_back(static_cast<float>((static_cast<double>(label) - static_cast<double>(scaling.mean)) /
                                         static_cast<double>(scaling.deviation)));
  return targets;
}

}  // namespace

DenseData WithScaledOutputs(const DenseData& outputs, const LabelScaling& scaling) {
  return MakeDenseData(outputs.features, Scaled(outputs.values, scaling), {});
}

DenseData WithTargets(const DenseData& data, const LabelScaling& scaling) {
  struct Owner {
    std::shared_ptr<const void> rows;
    std::vector<float> targets;
  };
  auto owner = std::make_shared<Owner>(Owner{data.owner, Scaled(data.label, scaling)});
  DenseData scaled = data;
  scaled.label = owner->targets;
  scaled.owner = std::move(owner);
  return scaled;
}

DenseData MakeDenseData(int features, std::vector<float> values, std::vector<float> label) {
  struct Owner {
    std::vector<float> values, label;
  };
  auto owner = std::make_shared<Owner>(Owner{std::move(values), std::move(label)});
  DenseData data;
  data.features = features;
  data.rows = features > 0 ? static_cast<int64_t>(owner->values.size()) / features : 0;
  data.values = owner->values;
  data.label = owner->label;
  data.owner = std::move(owner);
  return data;
}

}  // namespace winnow::mlp
