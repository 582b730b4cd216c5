#include "trainers/gbdt/objective/objective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "trainers/common/exact_sum.h"
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

void RankingGradients(const GbdtParameters& parameters, const Targets& targets, double mean_weight,
                      const float* margin, int64_t begin, int64_t end, float* gradient, float* hessian) {
  LambdaGradients lambda(parameters);
  EachGroup(targets, begin, end, [&](int64_t group, int64_t from, int64_t to) {
    const auto size = static_cast<std::size_t>(to - from);
    lambda.Compute({margin + from, size}, targets.label.subspan(from, size),
                   targets.weight.empty() ? 1.0 : static_cast<double>(targets.weight[group]) / mean_weight,
                   gradient + from, hessian + from);
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

absl::StatusOr<double> MeanGroupWeight(const Targets& targets, Communicator* communicator) {
  const std::vector<double> weights(targets.weight.begin(), targets.weight.end());
  const std::vector<double> ones(weights.size(), 1);
  const auto sums = ExactSums({weights, ones}, communicator);
  if (!sums.ok()) return sums.status();
  return (*sums)[0] > 0 ? (*sums)[0] / (*sums)[1] : 1.0;
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
                      float* hessian, double mean_weight) {
  if (parameters.ranking())
    return RankingGradients(parameters, targets, mean_weight, margin.data(), begin, end, gradient, hessian);
  const GradientRows rows{margin.data() + begin, targets.label.data() + begin, gradient + begin,
                          hessian + begin, end - begin};
  if (parameters.multi())
    SoftmaxGradients(rows, targets.rows, parameters.classes(), parameters.multi_hessian_factor());
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

namespace {

// Their product, and scale_pos_weight's, are within the range of float.
constexpr float kLargestLabel = 1e15f;
constexpr float kLargestWeight = 1e12f;
constexpr float kLargestRelevance = 31;  // XGBoost's limit, because gains are 2^label

struct Rule {
  bool (*takes)(float label, const GbdtParameters& parameters);
  std::string expected;
};

std::string With(const GbdtParameters& parameters) {
  return std::string(" with objective ") + ObjectiveName(parameters.objective);
}

Rule RuleOf(const GbdtParameters& parameters) {
  const std::string with = With(parameters);
  switch (parameters.objective) {
    case ObjectiveKind::kBinaryLogistic:
    case ObjectiveKind::kBinaryLogitRaw:
    case ObjectiveKind::kBinaryHinge:
    case ObjectiveKind::kRegLogistic:
      return {[](float label, const auto&) { return label >= 0 && label <= 1; }, "0 to 1" + with};
    case ObjectiveKind::kSquaredLogError:
      return {[](float label, const auto&) { return label > -1; }, "a number above -1" + with};
    case ObjectiveKind::kPoisson:
    case ObjectiveKind::kTweedie:
      return {[](float label, const auto&) { return label >= 0; }, "a number of at least 0" + with};
    case ObjectiveKind::kGamma:
      return {[](float label, const auto&) { return label > 0; }, "a number above 0" + with};
    case ObjectiveKind::kSoftMax:
    case ObjectiveKind::kSoftProb:
      return {[](float label, const auto& p) {
                return label >= 0 && label < static_cast<float>(p.num_class) && std::floor(label) == label;
              },
              fmt::format("a class from 0 to {}{} and num_class {}", parameters.num_class - 1, with,
                          parameters.num_class)};
    case ObjectiveKind::kRankNdcg:
      if (parameters.ndcg_exp_gain)
        return {[](float label, const auto&) {
                  return label >= 0 && label <= kLargestRelevance && std::floor(label) == label;
                },
                "a whole number from 0 to 31" + with + " and ndcg_exp_gain"};
      [[fallthrough]];
    case ObjectiveKind::kRankPairwise:
      return {[](float label, const auto&) { return label >= 0; }, "a number of at least 0" + with};
    default:
      return {[](float, const auto&) { return true; }, ""};
  }
}

bool NeedsGroups(const Metric& metric) {
  return metric.kind == Metric::kNdcg || metric.kind == Metric::kMap || metric.kind == Metric::kPrecision;
}

absl::Status CheckMetrics(const GbdtParameters& parameters, const Targets& targets) {
  for (const Metric& metric : parameters.metrics) {
    if (NeedsGroups(metric) && targets.rows > 0 && targets.group_begin.empty())
      return absl::InvalidArgumentError(fmt::format(
          "hyperparameter eval_metric = {}: expected data that is divided into groups", MetricName(metric)));
    const bool whole_area =
        metric.kind == Metric::kAucPr || (metric.kind == Metric::kAuc && targets.group_begin.empty());
    const bool of_two = whole_area && !parameters.multi();
    if (!of_two && (metric.kind != Metric::kNdcg || !parameters.ndcg_exp_gain)) continue;
    const float most = of_two ? 1 : kLargestRelevance;
    const auto bad = std::find_if(targets.label.begin(), targets.label.end(),
                                  [most](float label) { return !(label >= 0 && label <= most); });
    if (bad != targets.label.end())
      return absl::InvalidArgumentError(
          fmt::format("data row {}: label = {}: expected 0 to {} with eval_metric {}",
                      targets.first_row + (bad - targets.label.begin()) + 1, *bad, most, MetricName(metric)));
  }
  return absl::OkStatus();
}

absl::Status CheckGroups(const GbdtParameters& parameters, const Targets& targets) {
  const auto& begins = targets.group_begin;
  if (begins.empty()) {
    if (!parameters.ranking() || targets.rows == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        fmt::format("hyperparameter objective = {}: expected data that is divided into groups",
                    ObjectiveName(parameters.objective)));
  }
  if (begins.front() != 0 || begins.back() != targets.rows || !std::is_sorted(begins.begin(), begins.end()))
    return absl::InvalidArgumentError(fmt::format("groups: expected them to divide {} rows", targets.rows));
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckLabels(const GbdtParameters& parameters, const Targets& targets) {
  if (static_cast<int64_t>(targets.label.size()) != targets.rows)
    return absl::InvalidArgumentError("the data has no label column");
  const Rule rule = RuleOf(parameters);
  for (int64_t i = 0; i < targets.rows; ++i) {
    const float label = targets.label[i];
    if (!(std::fabs(label) <= kLargestLabel))
      return absl::InvalidArgumentError(fmt::format(
          "data row {}: label = {}: expected a number from -1e15 to 1e15", targets.first_row + i + 1, label));
    if (!rule.takes(label, parameters))
      return absl::InvalidArgumentError(fmt::format("data row {}: label = {}: expected {}",
                                                    targets.first_row + i + 1, label, rule.expected));
  }
  if (absl::Status status = CheckGroups(parameters, targets); !status.ok()) return status;
  const bool of_groups = !targets.group_begin.empty();
  const std::size_t weights = of_groups ? targets.group_begin.size() - 1 : targets.rows;
  if (!targets.weight.empty() && targets.weight.size() != weights)
    return absl::InvalidArgumentError(fmt::format("weight: {} values: expected one for each of the {} {}",
                                                  targets.weight.size(), weights,
                                                  of_groups ? "groups" : "rows"));
  for (std::size_t i = 0; i < targets.weight.size(); ++i) {
    if (!(targets.weight[i] >= 0 && targets.weight[i] <= kLargestWeight))
      return absl::InvalidArgumentError(fmt::format(
          "{} {}: weight = {}: expected a number from 0 to 1e12", of_groups ? "group" : "data row",
          (of_groups ? 0 : targets.first_row) + static_cast<int64_t>(i) + 1, targets.weight[i]));
  }
  return CheckMetrics(parameters, targets);
}

}  // namespace winnow::gbdt
