#include "trainers/gbdt/hyperparameters/hyperparameter_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "base/names.h"
#include "trainers/hyperparameters/hyperparameter.h"

namespace winnow::gbdt {
namespace {

enum class Suffix { kNone, kThreshold, kPower, kCount };  // what may follow "@"

struct KnownMetric {
  const char* name;
  Metric::Kind kind;
  Suffix suffix = Suffix::kNone;
};
constexpr KnownMetric kMetrics[] = {
    {"auc", Metric::kAuc},
    {"aucpr", Metric::kAucPr},
    {"logloss", Metric::kLogLoss},
    {"error", Metric::kError, Suffix::kThreshold},
    {"rmse", Metric::kRmse},
    {"rmsle", Metric::kRmsle},
    {"mae", Metric::kMae},
    {"mape", Metric::kMape},
    {"mphe", Metric::kPseudoHuber},
    {"mlogloss", Metric::kMultiLogLoss},
    {"merror", Metric::kMultiError},
    {"poisson-nloglik", Metric::kPoissonLoss},
    {"gamma-nloglik", Metric::kGammaLoss},
    {"gamma-deviance", Metric::kGammaDeviance},
    {"tweedie-nloglik", Metric::kTweedieLoss, Suffix::kPower},
    {"quantile", Metric::kQuantile},
    {"ndcg", Metric::kNdcg, Suffix::kCount},
    {"map", Metric::kMap, Suffix::kCount},
    {"pre", Metric::kPrecision, Suffix::kCount},
    {"accuracy", Metric::kAccuracy},
    {"f1", Metric::kF1},
    {"mse", Metric::kMse},
};
constexpr double kMostRanks = 1e6;

std::string MetricNames() {
  std::string names;
  for (const KnownMetric& known : kMetrics) {
    if (!names.empty()) names += ", ";
    names += known.name;
    if (known.suffix != Suffix::kNone) names += fmt::format(" (or {}@", known.name);
    if (known.suffix == Suffix::kThreshold) names += "0.7)";
    if (known.suffix == Suffix::kPower) names += "1.5)";
    if (known.suffix == Suffix::kCount) names += "5)";
  }
  return names;
}

// "; did you mean auc?" if a metric has a name like that.
std::string Suggestion(const std::string& name) {
  std::vector<std::string> names;
  for (const KnownMetric& known : kMetrics) names.emplace_back(known.name);
  const std::string nearest = NearestName(name, names);
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

// What the text behind "@" has to be; "" where `metric` took it.
std::string ReadSuffix(Suffix suffix, const std::string& text, Metric* metric) {
  metric->at = ReadReal(text);
  const double value = metric->at.value_or(0);
  switch (suffix) {
    case Suffix::kNone:
      return "nothing behind @";
    case Suffix::kThreshold:
      return metric->at ? "" : "a number behind @";
    case Suffix::kPower:
      return value >= 1 && value < 2 ? "" : "a number in [1, 2) behind @";
    case Suffix::kCount:
      return value >= 1 && value <= kMostRanks && std::floor(value) == value
                 ? ""
                 : "a whole number in [1, 1000000] behind @";
  }
  std::abort();
}

}  // namespace

std::string MetricName(const Metric& metric) {
  for (const KnownMetric& known : kMetrics) {
    if (known.kind != metric.kind) continue;
    return known.name + (metric.at ? fmt::format("@{}", *metric.at) : "") + (metric.minus ? "-" : "");
  }
  std::abort();
}

std::optional<Metric> ParseMetric(const std::string& name, std::string* expected) {
  std::string unused;
  std::string& problem = expected == nullptr ? unused : *expected;
  const std::size_t at = name.find('@');
  std::string plain = name.substr(0, at);
  std::string suffix = at == std::string::npos ? "" : name.substr(at + 1);
  std::string& last = at == std::string::npos ? plain : suffix;
  const bool minus = !last.empty() && last.back() == '-';
  if (minus) last.pop_back();
  const auto* const known =
      std::find_if(std::begin(kMetrics), std::end(kMetrics), [&](const auto& m) { return plain == m.name; });
  if (known == std::end(kMetrics)) {
    problem = "one of " + MetricNames() + Suggestion(plain);
    return std::nullopt;
  }
  Metric metric(known->kind);
  metric.minus = minus;
  if (at != std::string::npos) problem = ReadSuffix(known->suffix, suffix, &metric);
  if (problem.empty() && minus && known->kind != Metric::kNdcg && known->kind != Metric::kMap)
    problem = "no - at the end, which is of ndcg and map";
  // The metric is printed under the name that it was asked for, so that reports are found.
  if (problem.empty() && MetricName(metric) != name) problem = "it written as " + MetricName(metric);
  return problem.empty() ? std::optional(metric) : std::nullopt;
}

Metric DefaultMetric(ObjectiveKind objective) {
  switch (objective) {
    case ObjectiveKind::kBinaryLogistic:
    case ObjectiveKind::kBinaryLogitRaw:
      return Metric::kLogLoss;
    case ObjectiveKind::kBinaryHinge:
      return Metric::kError;
    case ObjectiveKind::kSquaredError:
    case ObjectiveKind::kRegLogistic:
      return Metric::kRmse;
    case ObjectiveKind::kSquaredLogError:
      return Metric::kRmsle;
    case ObjectiveKind::kAbsoluteError:
      return Metric::kMae;
    case ObjectiveKind::kPseudoHuber:
      return Metric::kPseudoHuber;
    case ObjectiveKind::kQuantile:
      return Metric::kQuantile;
    case ObjectiveKind::kPoisson:
      return Metric::kPoissonLoss;
    case ObjectiveKind::kGamma:
      return Metric::kGammaLoss;
    case ObjectiveKind::kTweedie:
      return Metric::kTweedieLoss;
    case ObjectiveKind::kSoftMax:
    case ObjectiveKind::kSoftProb:
      return Metric::kMultiLogLoss;
    case ObjectiveKind::kRankNdcg:
    case ObjectiveKind::kRankPairwise:
      return Metric::kMap;
  }
  std::abort();
}

}  // namespace winnow::gbdt
