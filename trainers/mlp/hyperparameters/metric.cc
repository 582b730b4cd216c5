#include "trainers/mlp/hyperparameters/metric.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "absl/status/status.h"
#include "base/names.h"
#include "fmt/format.h"

namespace winnow::mlp {
namespace {

using Kind = MlpMetric::Kind;

constexpr std::string_view kTopPrefix = "top";
constexpr int kMostTop = 1'000'000;

struct Named {
  std::string_view name;
  Kind kind;
};
constexpr Named kNamed[] = {
    {"loss", Kind::kLoss},   {"logloss", Kind::kLogLoss}, {"accuracy", Kind::kAccuracy},
    {"error", Kind::kError}, {"auc", Kind::kAuc},         {"rmse", Kind::kRmse},
    {"mae", Kind::kMae},
};

bool IsOf(Kind kind, LossKind loss) {
  const bool regression = loss == LossKind::kSquared || loss == LossKind::kHuber;
  switch (kind) {
    case Kind::kLoss:
      return true;
    case Kind::kTop:
      return loss == LossKind::kCrossEntropy;
    case Kind::kRmse:
    case Kind::kMae:
      return regression;
    default:
      return !regression;
  }
}

bool ReadTop(std::string_view name, int* top) {
  if (!name.starts_with(kTopPrefix)) return false;
  const char* const begin = name.data() + kTopPrefix.size();
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(begin, end, *top);
  return read.ec == std::errc() && read.ptr == end && *top >= 1 && *top <= kMostTop;
}

// The names for which `takes` is true: "loss, rmse or mae".
std::string NamesWhere(const std::function<bool(Kind)>& takes) {
  std::vector<std::string> names;
  for (const Named& named : kNamed) {
    if (takes(named.kind)) names.emplace_back(named.name);
  }
  if (takes(Kind::kTop)) names.emplace_back("topK (as top5)");
  return fmt::format("{} or {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

}  // namespace

absl::StatusOr<MlpMetric> ParseMlpMetric(std::string_view name, LossKind loss) {
  const Named* const named = std::find_if(std::begin(kNamed), std::end(kNamed),
                                          [&](const Named& entry) { return entry.name == name; });
  MlpMetric metric;
  if (named != std::end(kNamed)) {
    metric.kind = named->kind;
  } else if (ReadTop(name, &metric.top)) {
    metric.kind = Kind::kTop;
  } else {
    std::vector<std::string> names;
    for (const Named& entry : kNamed) names.emplace_back(entry.name);
    const std::string nearest = NearestName(name, names);
    return absl::InvalidArgumentError(NamesWhere([](Kind) { return true; }) +
                                      (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
  }
  if (!IsOf(metric.kind, loss))
    return absl::InvalidArgumentError(fmt::format(
        "{} with loss {}", NamesWhere([loss](Kind kind) { return IsOf(kind, loss); }), LossName(loss)));
  // The metric is printed under the name that it was asked for, so that reports are found.
  if (MlpMetricName(metric) != name)
    return absl::InvalidArgumentError("it written as " + MlpMetricName(metric));
  return metric;
}

absl::StatusOr<std::vector<MlpMetric>> MlpMetrics(const MlpParameters& parameters) {
  std::vector<MlpMetric> metrics;
  for (const std::string& name : parameters.metrics) {
    const auto metric = ParseMlpMetric(name, parameters.loss);
    if (!metric.ok()) return metric.status();
    if (std::find(metrics.begin(), metrics.end(), *metric) == metrics.end()) metrics.push_back(*metric);
  }
  if (!metrics.empty()) return metrics;
  metrics = {MlpMetric{Kind::kLoss}};
  switch (parameters.loss) {
    case LossKind::kCrossEntropy:
      metrics.push_back({Kind::kAccuracy});
      break;
    case LossKind::kLogistic:
      metrics.push_back({Kind::kAuc});
      break;
    default:
      metrics.push_back({Kind::kRmse});
  }
  return metrics;
}

std::string MlpMetricName(const MlpMetric& metric) {
  if (metric.kind == Kind::kTop) return fmt::format("{}{}", kTopPrefix, metric.top);
  const Named* const named = std::find_if(std::begin(kNamed), std::end(kNamed),
                                          [&](const Named& entry) { return entry.kind == metric.kind; });
  return std::string(named->name);
}

bool HigherIsBetter(const MlpMetric& metric) {
  return metric.kind == Kind::kAccuracy || metric.kind == Kind::kTop || metric.kind == Kind::kAuc;
}

}  // namespace winnow::mlp
