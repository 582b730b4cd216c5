#include "trainers/gbdt/hyperparameters/hyperparameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "trainers/common/hyperparameter_text.h"
#include "trainers/gbdt/hyperparameters/hyperparameter_names.h"
#include "trainers/gbdt/hyperparameters/hyperparameter_values.h"

namespace winnow::gbdt {
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
struct TruthParameter {
  const char* name;
  bool GbdtParameters::*field;
  const char* no = nullptr;  // the words for false and true; null: 0 and 1
  const char* yes = nullptr;
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
    {"rate_drop", &GbdtParameters::rate_drop, 0, 1, false},
    {"skip_drop", &GbdtParameters::skip_drop, 0, 1, false},
    {"huber_slope", &GbdtParameters::huber_slope, 0, 1e9, true},
    {"tweedie_variance_power", &GbdtParameters::tweedie_variance_power, 1, 2, false},
    {"quantile_alpha", &GbdtParameters::quantile_alpha, 0, 1, false},
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
    {"num_parallel_tree", &GbdtParameters::num_parallel_tree, 1, 10'000},
    {"max_cat_to_onehot", &GbdtParameters::max_cat_to_onehot, 1, 1'000'000},
    {"max_cat_threshold", &GbdtParameters::max_cat_threshold, 1, 1'000'000},
    {"lambdarank_num_pair_per_sample", &GbdtParameters::lambdarank_num_pair_per_sample, 1, 1'000'000},
};
constexpr TruthParameter kTruths[] = {
    {"sample_type", &GbdtParameters::dart_weighted_sample, "uniform", "weighted"},
    {"normalize_type", &GbdtParameters::dart_forest, "tree", "forest"},
    {"one_drop", &GbdtParameters::one_drop},
    {"enable_categorical", &GbdtParameters::enable_categorical},
    {"ndcg_exp_gain", &GbdtParameters::ndcg_exp_gain},
};
constexpr double kPoissonMaxDeltaStep = 0.7;  // XGBoost's, so that e^margin cannot run away
constexpr const char* kBaseScore = "base_score";
constexpr const char* kEstimated = "estimated";  // base_score of an objective that estimates it
constexpr const char* kChoices[] = {"objective",
                                    "eval_metric",
                                    "tree_method",
                                    "booster",
                                    "grow_policy",
                                    "monotone_constraints",
                                    "interaction_constraints",
                                    "lambdarank_pair_method"};

// XGBoost's second names.
constexpr std::pair<const char*, const char*> kAliases[] = {
    {"learning_rate", "eta"},    {"reg_lambda", "lambda"}, {"reg_alpha", "alpha"},
    {"min_split_loss", "gamma"}, {"random_state", "seed"}, {"n_jobs", "nthread"},
};

// Known to XGBoost, without effect under these boosters and objectives, or on how fast it runs only.
constexpr const char* kIgnored[] = {
    "lambda_bias",
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
    "num_pairsample",
    "fix_list_weight",
};

// What only booster=dart, or some objectives, look at.
struct ParameterOf {
  const char* name;
  bool (*matters)(const GbdtParameters&);
  const char* where;
};
bool IsDart(const GbdtParameters& p) { return p.booster == BoosterKind::kDart; }
bool Uses(const GbdtParameters& p, ObjectiveKind objective, Metric::Kind metric) {
  const auto same = [metric](const Metric& known) { return known.kind == metric; };
  return p.objective == objective || std::any_of(p.metrics.begin(), p.metrics.end(), same);
}
constexpr ParameterOf kSpecial[] = {
    {"rate_drop", IsDart, "booster dart"},
    {"one_drop", IsDart, "booster dart"},
    {"skip_drop", IsDart, "booster dart"},
    {"sample_type", IsDart, "booster dart"},
    {"normalize_type", IsDart, "booster dart"},
    {"tweedie_variance_power",
     [](const auto& p) { return Uses(p, ObjectiveKind::kTweedie, Metric::kTweedieLoss); },
     "objective reg:tweedie or eval_metric tweedie-nloglik"},
    {"quantile_alpha", [](const auto& p) { return Uses(p, ObjectiveKind::kQuantile, Metric::kQuantile); },
     "objective reg:quantileerror or eval_metric quantile"},
    {"huber_slope", [](const auto& p) { return Uses(p, ObjectiveKind::kPseudoHuber, Metric::kPseudoHuber); },
     "objective reg:pseudohubererror or eval_metric mphe"},
    {"lambdarank_num_pair_per_sample", [](const auto& p) { return p.ranking(); }, "objectives rank:*"},
};

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
  for (const auto& p : kTruths) known.push_back(p.name);
  for (const char* p : kChoices) known.push_back(p);
  for (const auto& alias : kAliases) known.push_back(alias.first);
  return *std::min_element(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
    return EditDistance(name, a) < EditDistance(name, b);
  });
}

absl::Status CheckBaseScore(const GbdtParameters& p) {
  const std::string with = std::string(" with objective ") + ObjectiveName(p.objective);
  switch (p.objective) {
    case ObjectiveKind::kBinaryLogistic:
    case ObjectiveKind::kRegLogistic:
      if (p.base_score > 0 && p.base_score < 1) break;
      return BadValue(kBaseScore, p.base_score, "a number in (0, 1)" + with);
    case ObjectiveKind::kPoisson:
    case ObjectiveKind::kGamma:
    case ObjectiveKind::kTweedie:
      if (p.base_score > 0) break;
      return BadValue(kBaseScore, p.base_score, "a number above 0" + with);
    default:
      break;
  }
  return absl::OkStatus();
}

absl::Status CheckTogether(GbdtParameters* p) {
  const std::string objective = ObjectiveName(p->objective);
  if (p->multi() && p->num_class < 2)
    return BadValue("num_class", p->num_class, "a whole number of at least 2 with objective " + objective);
  if (!p->multi() && p->num_class > 1)
    return BadValue("num_class", p->num_class, "none, 0 or 1 with objective " + objective);
  if (absl::Status status = CheckBaseScore(*p); !status.ok()) return status;
  if (p->tweedie_variance_power >= 2)
    return BadValue("tweedie_variance_power", p->tweedie_variance_power, "a number in [1, 2)");
  if (p->metrics.empty()) p->metrics.push_back(DefaultMetric(p->objective));
  for (const Metric& metric : p->metrics) {
    const bool of_classes = metric.kind == Metric::kMultiLogLoss || metric.kind == Metric::kMultiError;
    const bool of_both = metric.kind == Metric::kAuc || metric.kind == Metric::kAucPr;
    if (of_classes != p->multi() && !of_both)
      return BadValue(
          "eval_metric", MetricName(metric),
          fmt::format("{} with objective {}",
                      p->multi() ? "mlogloss, merror, auc or aucpr" : "a metric of one prediction a row",
                      objective));
  }
  return absl::OkStatus();
}

absl::Status ReadChoice(const std::string& name, const Json& value, GbdtParameters* p,
                        std::vector<std::string>* warnings) {
  if (name == "eval_metric") return ReadMetrics(value, &p->metrics);
  if (name == "monotone_constraints") return ReadMonotone(value, p);
  if (name == "interaction_constraints") return ReadInteractions(value, p);
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  if (name == "objective") {
    const std::optional<ObjectiveKind> found = FindObjective(text);
    if (!found) return BadValue(name, value, "one of " + ObjectiveNames());
    p->objective = *found;
    return absl::OkStatus();
  }
  if (name == "booster") {
    if (text != "gbtree" && text != "dart") return BadValue(name, value, "gbtree or dart");
    p->booster = text == "dart" ? BoosterKind::kDart : BoosterKind::kTree;
    return absl::OkStatus();
  }
  if (name == "grow_policy") {
    if (text != "depthwise" && text != "lossguide") return BadValue(name, value, "depthwise or lossguide");
    p->grow_policy = text == "lossguide" ? GrowPolicy::kLossGuide : GrowPolicy::kDepthWise;
    return absl::OkStatus();
  }
  if (name == "lambdarank_pair_method")
    return text == "topk" ? absl::OkStatus() : BadValue(name, value, "topk");
  if (text != "hist" && text != "exact" && text != "approx" && text != "auto")
    return BadValue(name, value, "one of hist, exact, approx, auto");
  if (text != "hist") warnings->push_back(fmt::format("tree_method {} runs as hist", text));
  return absl::OkStatus();
}

absl::Status ReadTruth(const TruthParameter& known, const Json& value, GbdtParameters* p) {
  if (known.no == nullptr) {
    const std::optional<bool> truth = AsTruth(value);
    if (!truth) return BadValue(known.name, value, "0 or 1");
    p->*known.field = *truth;
    return absl::OkStatus();
  }
  const std::string text = Shown(value);
  if (text != known.no && text != known.yes)
    return BadValue(known.name, value, fmt::format("{} or {}", known.no, known.yes));
  p->*known.field = text == known.yes;
  return absl::OkStatus();
}

absl::Status ReadOne(const std::string& name, const Json& value, GbdtParameters* p,
                     std::vector<std::string>* warnings) {
  if (name == kBaseScore && value == kEstimated) return absl::OkStatus();
  for (const RealParameter& known : kReals) {
    if (name != known.name) continue;
    const std::optional<double> real = AsReal(value);
    const bool inside = real && std::isfinite(*real) && *real <= known.high &&
                        (known.low_open ? *real > known.low : *real >= known.low);
    if (!inside) {
      return BadValue(
          name, value,
          known.high == kInfinity
              ? fmt::format("a number of at least {}", known.low)
              : fmt::format("a number in {}{}, {}]", known.low_open ? "(" : "[", known.low, known.high));
    }
    p->*known.field = *real;
    if (name == kBaseScore) p->base_score_given = true;
    return absl::OkStatus();
  }
  for (const WholeParameter& known : kWholes) {
    if (name != known.name) continue;
    const std::optional<int64_t> whole = AsWhole(value);
    if (!whole || *whole < known.low || *whole > known.high)
      return BadValue(name, value, fmt::format("a whole number in [{}, {}]", known.low, known.high));
    p->*known.field = *whole;
    if (name == "seed") p->seed_given = true;
    return absl::OkStatus();
  }
  for (const TruthParameter& known : kTruths) {
    if (name == known.name) return ReadTruth(known, value, p);
  }
  for (const char* choice : kChoices) {
    if (name == choice) return ReadChoice(name, value, p, warnings);
  }
  for (const char* ignored : kIgnored) {
    if (name != ignored) continue;
    warnings->push_back(fmt::format("hyperparameter {} = {} has no effect here", name, Shown(value)));
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("unknown hyperparameter {}; did you mean {}?", name, NearestName(name)));
}

}  // namespace

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
  if (parameters.objective == ObjectiveKind::kPoisson && seen.count("max_delta_step") == 0)
    parameters.max_delta_step = kPoissonMaxDeltaStep;
  for (const ParameterOf& special : kSpecial) {
    if (seen.count(special.name) > 0 && !special.matters(parameters))
      warnings->push_back(
          fmt::format("hyperparameter {} has no effect but with {}", special.name, special.where));
  }
  if (absl::Status status = CheckTogether(&parameters); !status.ok()) return status;
  return parameters;
}

std::map<std::string, std::string> ModelHyperparameters(const GbdtParameters& parameters) {
  std::map<std::string, std::string> values;
  for (const RealParameter& known : kReals) values[known.name] = fmt::format("{}", parameters.*known.field);
  for (const WholeParameter& known : kWholes) values[known.name] = fmt::format("{}", parameters.*known.field);
  for (const TruthParameter& known : kTruths) {
    const bool truth = parameters.*known.field;
    values[known.name] = known.no == nullptr ? (truth ? "1" : "0") : (truth ? known.yes : known.no);
  }
  values.erase("num_round");
  values.erase("nthread");
  if (EstimatesBaseScore(parameters.objective) && !parameters.base_score_given)
    values[kBaseScore] = kEstimated;
  values["objective"] = ObjectiveName(parameters.objective);
  values["booster"] = parameters.booster == BoosterKind::kDart ? "dart" : "gbtree";
  values["grow_policy"] = parameters.grow_policy == GrowPolicy::kLossGuide ? "lossguide" : "depthwise";
  values["monotone_constraints"] = parameters.monotone_by_name.empty()
                                       ? Json(parameters.monotone_constraints).dump()
                                       : Json(parameters.monotone_by_name).dump();
  values["interaction_constraints"] = Json(parameters.interaction_constraints).dump();
  std::string& metrics = values["eval_metric"];
  for (const Metric& metric : parameters.metrics)
    metrics += fmt::format("{}{}", metrics.empty() ? "" : ",", MetricName(metric));
  return values;
}

}  // namespace winnow::gbdt
