#include "worker/gbdt/hyperparameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

namespace winnow {
namespace {

using Json = nlohmann::json;

struct RealParameter {
  const char* name;
  double GbdtParameters::*field;
  double low, high;
  bool low_open;
};
struct WholeParameter {
  const char* name;
  int64_t GbdtParameters::*field;
  int64_t low, high;
};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr RealParameter kReals[] = {
    {"eta", &GbdtParameters::eta, 0, 1, false},
    {"lambda", &GbdtParameters::lambda, 0, kInfinity, false},
    {"alpha", &GbdtParameters::alpha, 0, kInfinity, false},
    {"gamma", &GbdtParameters::gamma, 0, kInfinity, false},
    {"min_child_weight", &GbdtParameters::min_child_weight, 0, kInfinity, false},
    {"max_delta_step", &GbdtParameters::max_delta_step, 0, kInfinity, false},
    {"subsample", &GbdtParameters::subsample, 0, 1, true},
    {"colsample_bytree", &GbdtParameters::colsample_bytree, 0, 1, false},
    {"colsample_bylevel", &GbdtParameters::colsample_bylevel, 0, 1, false},
    {"colsample_bynode", &GbdtParameters::colsample_bynode, 0, 1, false},
    {"scale_pos_weight", &GbdtParameters::scale_pos_weight, 0, 1e9, false},
    {"base_score", &GbdtParameters::base_score, -1e15, 1e15, false},
};
constexpr WholeParameter kWholes[] = {
    {"num_round", &GbdtParameters::num_round, 0, 10'000'000},
    {"max_depth", &GbdtParameters::max_depth, 0, 1'000'000},
    {"max_leaves", &GbdtParameters::max_leaves, 0, 1'000'000'000},
    {"max_bin", &GbdtParameters::max_bin, 2, 65'535},
    {"seed", &GbdtParameters::seed, 0, std::numeric_limits<int64_t>::max()},
    {"nthread", &GbdtParameters::nthread, 0, 1024},
    {"num_class", &GbdtParameters::num_class, 0, 10'000},
    {"early_stopping_rounds", &GbdtParameters::early_stopping_rounds, 0, 10'000'000},
};
constexpr const char* kChoices[] = {"objective", "eval_metric", "tree_method", "booster", "grow_policy"};

// XGBoost's second names.
constexpr std::pair<const char*, const char*> kAliases[] = {
    {"learning_rate", "eta"},    {"reg_lambda", "lambda"}, {"reg_alpha", "alpha"},
    {"min_split_loss", "gamma"}, {"random_state", "seed"}, {"n_jobs", "nthread"},
};

// Known to XGBoost, without effect under booster=gbtree with these objectives, or on how fast it runs only.
constexpr const char* kIgnored[] = {
    "rate_drop",
    "one_drop",
    "skip_drop",
    "sample_type",
    "normalize_type",
    "tweedie_variance_power",
    "lambda_bias",
    "huber_slope",
    "aft_loss_distribution",
    "feature_selector",
    "top_k",
    "sketch_eps",
    "refresh_leaf",
    "predictor",
    "single_precision_histogram",
    "deterministic_histogram",
    "verbosity",
    "silent",
    "validate_parameters",
    "disable_default_eval_metric",
    "csv_weights",
};

constexpr std::pair<const char*, ObjectiveKind> kObjectives[] = {
    {"binary:logistic", ObjectiveKind::kBinaryLogistic},
    {"binary:logitraw", ObjectiveKind::kBinaryLogitRaw},
    {"reg:squarederror", ObjectiveKind::kSquaredError},
    {"multi:softprob", ObjectiveKind::kSoftProb},
};
constexpr std::pair<const char*, MetricKind> kMetrics[] = {
    {"auc", MetricKind::kAuc},
    {"aucpr", MetricKind::kAucPr},
    {"logloss", MetricKind::kLogLoss},
    {"error", MetricKind::kError},
    {"rmse", MetricKind::kRmse},
    {"mae", MetricKind::kMae},
    {"mlogloss", MetricKind::kMultiLogLoss},
    {"merror", MetricKind::kMultiError},
};

template <typename Table>
std::string NamesOf(const Table& table) {
  std::string names;
  for (const auto& [name, value] : table) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  return names;
}

std::string Shown(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

absl::Status Bad(const std::string& name, const Json& value, const std::string& expected) {
  return absl::InvalidArgumentError(
      fmt::format("hyperparameter {} = {}: expected {}", name, Shown(value), expected));
}

std::string Trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return std::string(text);
}

std::optional<double> AsReal(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const std::string text = Trimmed(value.get<std::string>());
  char* end = nullptr;
  const double real = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return std::nullopt;
  return real;
}

// A whole number up to 2^63 - 1 without loss; 6.0 counts as whole.
std::optional<int64_t> AsWhole(const Json& value) {
  if (value.is_number_unsigned() && value.get<uint64_t>() > std::numeric_limits<int64_t>::max()) return {};
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_string()) {
    const std::string text = Trimmed(value.get<std::string>());
    char* end = nullptr;
    errno = 0;
    const long long whole = std::strtoll(text.c_str(), &end, 10);
    if (!text.empty() && *end == '\0' && errno == 0) return whole;
  }
  const std::optional<double> real = AsReal(value);
  if (!real || std::floor(*real) != *real || std::fabs(*real) > 9e15) return std::nullopt;
  return static_cast<int64_t>(*real);
}

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t best = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[b.size()];
}

std::string NearestName(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& p : kReals) known.push_back(p.name);
  for (const auto& p : kWholes) known.push_back(p.name);
  for (const char* p : kChoices) known.push_back(p);
  for (const auto& alias : kAliases) known.push_back(alias.first);
  return *std::min_element(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
    return EditDistance(name, a) < EditDistance(name, b);
  });
}

absl::Status ReadMetrics(const Json& value, std::vector<MetricKind>* metrics) {
  std::vector<std::string> names;
  Json list = value;
  if (value.is_string()) {
    const std::string text = Trimmed(value.get<std::string>());
    if (!text.empty() && text.front() == '[') {
      list = Json::parse(text, nullptr, false);
    } else {
      for (std::size_t from = 0; from <= text.size();) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        names.push_back(Trimmed(std::string_view(text).substr(from, comma - from)));
        from = comma + 1;
      }
    }
  }
  if (list.is_array()) {
    for (const Json& entry : list) {
      if (!entry.is_string()) return Bad("eval_metric", value, "a list of names");
      names.push_back(Trimmed(entry.get<std::string>()));
    }
  }
  if (names.empty())
    return Bad("eval_metric", value, "a name, names with commas between, or a JSON list of names");
  for (const std::string& name : names) {
    const auto* found = std::find_if(std::begin(kMetrics), std::end(kMetrics),
                                     [&](const auto& entry) { return name == entry.first; });
    if (found == std::end(kMetrics)) return Bad("eval_metric", name, "one of " + NamesOf(kMetrics));
    if (std::find(metrics->begin(), metrics->end(), found->second) == metrics->end())
      metrics->push_back(found->second);
  }
  return absl::OkStatus();
}

MetricKind DefaultMetric(ObjectiveKind objective) {
  switch (objective) {
    case ObjectiveKind::kBinaryLogistic:
    case ObjectiveKind::kBinaryLogitRaw:
      return MetricKind::kLogLoss;
    case ObjectiveKind::kSquaredError:
      return MetricKind::kRmse;
    case ObjectiveKind::kSoftProb:
      return MetricKind::kMultiLogLoss;
  }
  std::abort();
}

absl::Status CheckTogether(GbdtParameters* p) {
  const bool multi = p->objective == ObjectiveKind::kSoftProb;
  const bool logistic = p->objective == ObjectiveKind::kBinaryLogistic;
  if (multi && p->num_class < 2)
    return Bad("num_class", p->num_class, "a whole number of at least 2 with objective multi:softprob");
  if (!multi && p->num_class > 1)
    return Bad("num_class", p->num_class,
               "none, 0 or 1 with objective " + std::string(ObjectiveName(p->objective)));
  if (logistic && !(p->base_score > 0 && p->base_score < 1))
    return Bad("base_score", p->base_score,
               "a number in (0, 1) with objective " + std::string(ObjectiveName(p->objective)));
  if (p->metrics.empty()) p->metrics.push_back(DefaultMetric(p->objective));
  for (MetricKind metric : p->metrics) {
    const bool of_classes = metric == MetricKind::kMultiLogLoss || metric == MetricKind::kMultiError;
    if (of_classes != multi)
      return Bad("eval_metric", MetricName(metric),
                 fmt::format("{} with objective {}",
                             multi ? "mlogloss or merror" : "a metric of one prediction a row",
                             ObjectiveName(p->objective)));
  }
  return absl::OkStatus();
}

absl::Status ReadChoice(const std::string& name, const Json& value, GbdtParameters* p,
                        std::vector<std::string>* warnings) {
  if (name == "eval_metric") return ReadMetrics(value, &p->metrics);
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  if (name == "objective") {
    for (const auto& [known, kind] : kObjectives) {
      if (text != known) continue;
      p->objective = kind;
      return absl::OkStatus();
    }
    return Bad(name, value, "one of " + NamesOf(kObjectives));
  }
  if (name == "booster") return text == "gbtree" ? absl::OkStatus() : Bad(name, value, "gbtree");
  if (name == "grow_policy") return text == "depthwise" ? absl::OkStatus() : Bad(name, value, "depthwise");
  if (text != "hist" && text != "exact" && text != "approx" && text != "auto")
    return Bad(name, value, "one of hist, exact, approx, auto");
  if (text != "hist") warnings->push_back(fmt::format("tree_method {} runs as hist", text));
  return absl::OkStatus();
}

absl::Status ReadOne(const std::string& name, const Json& value, GbdtParameters* p,
                     std::vector<std::string>* warnings) {
  for (const RealParameter& known : kReals) {
    if (name != known.name) continue;
    const std::optional<double> real = AsReal(value);
    const bool inside = real && std::isfinite(*real) && *real <= known.high &&
                        (known.low_open ? *real > known.low : *real >= known.low);
    if (!inside) {
      return Bad(name, value,
                 known.high == kInfinity ? fmt::format("a number of at least {}", known.low)
                                         : fmt::format("a number in {}{}, {}]", known.low_open ? "(" : "[",
                                                       known.low, known.high));
    }
    p->*known.field = *real;
    return absl::OkStatus();
  }
  for (const WholeParameter& known : kWholes) {
    if (name != known.name) continue;
    const std::optional<int64_t> whole = AsWhole(value);
    if (!whole || *whole < known.low || *whole > known.high)
      return Bad(name, value, fmt::format("a whole number in [{}, {}]", known.low, known.high));
    p->*known.field = *whole;
    if (name == "seed") p->seed_given = true;
    return absl::OkStatus();
  }
  for (const char* choice : kChoices) {
    if (name == choice) return ReadChoice(name, value, p, warnings);
  }
  for (const char* ignored : kIgnored) {
    if (name != ignored) continue;
    warnings->push_back(
        fmt::format("hyperparameter {} = {} has no effect with booster gbtree here", name, Shown(value)));
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("unknown hyperparameter {}; did you mean {}?", name, NearestName(name)));
}

}  // namespace

const char* ObjectiveName(ObjectiveKind kind) {
  for (const auto& [name, known] : kObjectives) {
    if (known == kind) return name;
  }
  std::abort();
}

const char* MetricName(MetricKind kind) {
  for (const auto& [name, known] : kMetrics) {
    if (known == kind) return name;
  }
  std::abort();
}

absl::StatusOr<GbdtParameters> ParseHyperparameters(const std::string& json_object,
                                                    std::vector<std::string>* warnings) {
  const Json object = Json::parse(json_object, nullptr, false);
  if (object.is_discarded()) return absl::InvalidArgumentError("hyperparameters: this is not valid JSON");
  if (!object.is_object())
    return absl::InvalidArgumentError("hyperparameters: expected a JSON object of names and values");
  GbdtParameters parameters;
  std::set<std::string> seen;
  for (const auto& [given, value] : object.items()) {
    std::string name = given;
    for (const auto& [alias, meant] : kAliases) {
      if (given == alias) name = meant;
    }
    if (!seen.insert(name).second)
      return absl::InvalidArgumentError(
          fmt::format("hyperparameter {} is given twice, by its two names", name));
    if (absl::Status status = ReadOne(name, value, &parameters, warnings); !status.ok()) return status;
  }
  if (absl::Status status = CheckTogether(&parameters); !status.ok()) return status;
  return parameters;
}

std::map<std::string, std::string> ModelHyperparameters(const GbdtParameters& parameters) {
  std::map<std::string, std::string> values;
  for (const RealParameter& known : kReals) values[known.name] = fmt::format("{}", parameters.*known.field);
  for (const WholeParameter& known : kWholes) values[known.name] = fmt::format("{}", parameters.*known.field);
  values.erase("num_round");
  values.erase("nthread");
  values["objective"] = ObjectiveName(parameters.objective);
  std::string& metrics = values["eval_metric"];
  for (MetricKind metric : parameters.metrics)
    metrics += fmt::format("{}{}", metrics.empty() ? "" : ",", MetricName(metric));
  return values;
}

}  // namespace winnow
