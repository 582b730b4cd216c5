#include "trainers/gbdt/hyperparameters/hyperparameter_names.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace winnow::gbdt {
namespace {

constexpr std::pair<const char*, ObjectiveKind> kObjectives[] = {
    {"binary:logistic", ObjectiveKind::kBinaryLogistic},
    {"binary:logitraw", ObjectiveKind::kBinaryLogitRaw},
    {"binary:hinge", ObjectiveKind::kBinaryHinge},
    {"reg:squarederror", ObjectiveKind::kSquaredError},
    {"reg:squaredlogerror", ObjectiveKind::kSquaredLogError},
    {"reg:logistic", ObjectiveKind::kRegLogistic},
    {"reg:absoluteerror", ObjectiveKind::kAbsoluteError},
    {"reg:pseudohubererror", ObjectiveKind::kPseudoHuber},
    {"reg:quantileerror", ObjectiveKind::kQuantile},
    {"count:poisson", ObjectiveKind::kPoisson},
    {"reg:gamma", ObjectiveKind::kGamma},
    {"reg:tweedie", ObjectiveKind::kTweedie},
    {"multi:softmax", ObjectiveKind::kSoftMax},
    {"multi:softprob", ObjectiveKind::kSoftProb},
    {"rank:ndcg", ObjectiveKind::kRankNdcg},
    {"rank:pairwise", ObjectiveKind::kRankPairwise},
};

enum class Suffix { kNone, kThreshold, kPower, kCount };  // what may stand behind "@"

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
};
constexpr double kMostRanks = 1e6;

absl::Status BadMetric(const std::string& name, const std::string& expected) {
  return absl::InvalidArgumentError(
      fmt::format("hyperparameter eval_metric = {}: expected {}", name, expected));
}

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

absl::Status ReadSuffix(const std::string& name, Suffix suffix, const std::string& text, Metric* metric) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool number = !text.empty() && *end == '\0' && std::isfinite(value);
  switch (suffix) {
    case Suffix::kNone:
      return BadMetric(name, "nothing behind @");
    case Suffix::kThreshold:
      if (!number) return BadMetric(name, "a number behind @");
      metric->at = value;
      return absl::OkStatus();
    case Suffix::kPower:
      if (!number || value < 1 || value >= 2) return BadMetric(name, "a number in [1, 2) behind @");
      metric->at = value;
      return absl::OkStatus();
    case Suffix::kCount:
      if (!number || value < 1 || value > kMostRanks || std::floor(value) != value)
        return BadMetric(name, "a whole number in [1, 1000000] behind @");
      metric->at = value;
      return absl::OkStatus();
  }
  std::abort();
}

}  // namespace

const char* ObjectiveName(ObjectiveKind kind) {
  for (const auto& [name, known] : kObjectives) {
    if (known == kind) return name;
  }
  std::abort();
}

std::optional<ObjectiveKind> FindObjective(std::string_view name) {
  for (const auto& [known, kind] : kObjectives) {
    if (name == known) return kind;
  }
  return std::nullopt;
}

std::string ObjectiveNames() {
  std::string names;
  for (const auto& entry : kObjectives) names += (names.empty() ? "" : ", ") + std::string(entry.first);
  return names;
}

std::string MetricName(const Metric& metric) {
  for (const KnownMetric& known : kMetrics) {
    if (known.kind != metric.kind) continue;
    return known.name + (metric.at ? fmt::format("@{}", *metric.at) : "") + (metric.minus ? "-" : "");
  }
  std::abort();
}

absl::StatusOr<Metric> ParseMetric(const std::string& name) {
  const std::size_t at = name.find('@');
  std::string plain = name.substr(0, at);
  std::string suffix = at == std::string::npos ? "" : name.substr(at + 1);
  std::string& last = at == std::string::npos ? plain : suffix;
  const bool minus = !last.empty() && last.back() == '-';
  if (minus) last.pop_back();
  for (const KnownMetric& known : kMetrics) {
    if (plain != known.name) continue;
    Metric metric(known.kind);
    if (at != std::string::npos) {
      if (absl::Status status = ReadSuffix(name, known.suffix, suffix, &metric); !status.ok()) return status;
    }
    if (minus && known.kind != Metric::kNdcg && known.kind != Metric::kMap)
      return BadMetric(name, "no - at the end, which is of ndcg and map");
    metric.minus = minus;
    // Requires the canonical name, because that is printed and searched for.
    if (MetricName(metric) != name) return BadMetric(name, "it written as " + MetricName(metric));
    return metric;
  }
  return BadMetric(name, "one of " + MetricNames());
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
