#include "trainers/gbdt/objective/objective.h"

#include <algorithm>
#include <cstdlib>

#include "trainers/gbdt/objective/lambda_gradients.h"
#include "trainers/gbdt/objective/objective_rows.h"

namespace winnow::gbdt {
namespace {

// Returns the group of `row`.
int64_t GroupOf(const Targets& targets, int64_t row) {
  const auto after = std::upper_bound(targets.group_begin.begin(), targets.group_begin.end(), row);
  return after - targets.group_begin.begin() - 1;
}

// Calls use(group, begin, end) for each group's part of the rows [begin, end).
template <typename Use>
void EachGroup(const Targets& targets, int64_t begin, int64_t end, const Use& use) {
  if (begin >= end) return;
  for (int64_t group = GroupOf(targets, begin); begin < end; ++group) {
    const int64_t until = std::min(end, targets.group_begin[group + 1]);
    if (until > begin) use(group, begin, until);
    begin = until;
  }
}

bool HasGroups(const Targets& targets) { return !targets.group_begin.empty(); }

void WeighRows(const Targets& targets, int64_t begin, int64_t end, float* values) {
  if (targets.weight.empty()) return;
  if (!HasGroups(targets)) return MultiplyRows(targets.weight.data() + begin, end - begin, values + begin);
  EachGroup(targets, begin, end, [&](int64_t group, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) values[i] *= targets.weight[group];
  });
}

void RankingGradients(const GbdtParameters& parameters, const Targets& targets, const float* margin,
                      int64_t begin, int64_t end, float* gradient, float* hessian) {
  LambdaGradients lambda(parameters);
  EachGroup(targets, begin, end, [&](int64_t group, int64_t from, int64_t to) {
    const auto size = static_cast<std::size_t>(to - from);
    lambda.Compute({margin + from, size}, targets.label.subspan(from, size),
                   targets.weight.empty() ? 1.0f : targets.weight[group], gradient + from, hessian + from);
  });
}

}  // namespace

float BaseMargin(const GbdtParameters& parameters) {
  const double score = parameters.base_score;
  switch (parameters.objective) {
    case ObjectiveKind::kBinaryLogistic:
    case ObjectiveKind::kRegLogistic:
      return static_cast<float>(-PortableLog(1.0 / score - 1.0));
    case ObjectiveKind::kPoisson:
    case ObjectiveKind::kGamma:
    case ObjectiveKind::kTweedie:
      return static_cast<float>(PortableLog(score));
    default:  // as XGBoost: their scale is the margin's
      return static_cast<float>(score);
  }
}

std::vector<int64_t> GradientBlocks(const Targets& targets, int64_t about_rows) {
  std::vector<int64_t> borders = {0};
  if (!HasGroups(targets)) {
    while (borders.back() < targets.rows)
      borders.push_back(std::min(targets.rows, borders.back() + about_rows));
    return borders;
  }
  for (const int64_t border : targets.group_begin) {
    if (border - borders.back() >= about_rows) borders.push_back(border);
  }
  if (borders.back() < targets.rows) borders.push_back(targets.rows);
  return borders;
}

void ComputeGradients(const GbdtParameters& parameters, const Targets& targets,
                      const std::vector<float>& margin, int64_t begin, int64_t end, float* gradient,
                      float* hessian) {
  if (parameters.ranking())
    return RankingGradients(parameters, targets, margin.data(), begin, end, gradient, hessian);
  const GradientRows rows{margin.data() + begin, targets.label.data() + begin, gradient + begin,
                          hessian + begin, end - begin};
  if (parameters.multi())
    SoftmaxGradients(rows, targets.rows, parameters.classes());
  else
    RowGradients(parameters, rows);
  for (int k = 0; k < parameters.classes(); ++k) {
    WeighRows(targets, begin, end, gradient + k * targets.rows);
    WeighRows(targets, begin, end, hessian + k * targets.rows);
  }
}

std::vector<float> PredictionsFrom(const GbdtParameters& parameters, const std::vector<float>& margin,
                                   int64_t rows) {
  std::vector<float> out = margin;
  if (parameters.objective == ObjectiveKind::kBinaryLogitRaw) return out;
  if (parameters.objective != ObjectiveKind::kSoftMax) {
    MetricPredictions(parameters, margin, rows, 0, rows, out.data());
    return out;
  }
  out.resize(rows);
  for (int64_t i = 0; i < rows; ++i) {
    int best = 0;
    for (int k = 1; k < parameters.classes(); ++k) {
      if (margin[k * rows + i] > margin[best * rows + i]) best = k;
    }
    out[i] = static_cast<float>(best);
  }
  return out;
}

void MetricPredictions(const GbdtParameters& parameters, std::span<const float> margin, int64_t rows,
                       int64_t begin, int64_t end, float* out) {
  const float* in = margin.data() + begin;
  const int64_t count = end - begin;
  switch (parameters.objective) {
    case ObjectiveKind::kBinaryLogistic:
    case ObjectiveKind::kBinaryLogitRaw:
    case ObjectiveKind::kRegLogistic:
      return SigmoidRows(in, count, out);
    case ObjectiveKind::kPoisson:
    case ObjectiveKind::kGamma:
    case ObjectiveKind::kTweedie:
      return ExpRows(in, count, out);
    case ObjectiveKind::kBinaryHinge:
      std::transform(in, in + count, out, [](float value) { return value > 0 ? 1.0f : 0.0f; });
      return;
    case ObjectiveKind::kSoftMax:
    case ObjectiveKind::kSoftProb:
      return SoftmaxRows(in, rows, parameters.classes(), count, out, count);
    default:
      std::copy(in, in + count, out);
      return;
  }
}

bool LearnsClasses(ObjectiveKind objective) {
  switch (objective) {
    case ObjectiveKind::kBinaryLogistic:
    case ObjectiveKind::kBinaryLogitRaw:
    case ObjectiveKind::kBinaryHinge:
    case ObjectiveKind::kSoftMax:
    case ObjectiveKind::kSoftProb:
      return true;
    default:
      return false;
  }
}

std::vector<float> RowWeights(const Targets& targets) {
  std::vector<float> weights(targets.rows, 1.0f);
  WeighRows(targets, 0, targets.rows, weights.data());
  return weights;
}

}  // namespace winnow::gbdt
