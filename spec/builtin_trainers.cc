#include "spec/builtin_trainers.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

#include "spec/builtin_mlp.h"

namespace winnow {
namespace {

using Kind = HyperparameterKind;

constexpr double kMostRounds = 1e15;            // reals below are whole numbers of rounds
constexpr double kMostTweediePower = 1.999999;  // winnow-gbdt takes any number below 2

// As short as winnow-gbdt prints them: no zeros that could be left out.
constexpr const char* kGbdtMetricRegex =
    R"(error@(0|[1-9][0-9]{0,5})(\.[0-9]{0,3}[1-9])?|tweedie-nloglik@1(\.[0-9]{0,3}[1-9])?|)"
    R"((ndcg|map)(@[1-9][0-9]{0,5})?-?|pre@[1-9][0-9]{0,5})";

BuiltinHyperparameter Real(std::string name, std::optional<double> min, std::optional<double> max = {},
                           bool above_min = false) {
  return {std::move(name), Kind::kReal, min, max, above_min, {}, true};
}
BuiltinHyperparameter Integer(std::string name, double min, double max, bool tunable = true) {
  return {std::move(name), Kind::kInteger, min, max, false, {}, tunable};
}
BuiltinHyperparameter Text(std::string name, std::vector<std::string> choices, bool tunable = true) {
  return {std::move(name), Kind::kText, {}, {}, false, std::move(choices), tunable};
}

// What is said of boosted trees again and again: XGBoost's own defaults; half-size steps with sampled rows
// and columns; small steps with columns sampled hard; shallow trees; deep trees that are held back; for rare
// classes, leaves that must be large and steps that are bounded.
std::vector<std::map<std::string, std::string>> GbdtPortfolio() {
  const std::map<std::string, std::string> defaults = {{"num_round", "10000000"},
                                                       {"eta", "0.3"},
                                                       {"max_depth", "6"},
                                                       {"min_child_weight", "1"},
                                                       {"gamma", "0"},
                                                       {"lambda", "1"},
                                                       {"alpha", "0"},
                                                       {"subsample", "1"},
                                                       {"colsample_bytree", "1"},
                                                       {"max_leaves", "0"},
                                                       {"colsample_bylevel", "1"},
                                                       {"colsample_bynode", "1"},
                                                       {"max_bin", "256"},
                                                       {"max_delta_step", "0"},
                                                       {"scale_pos_weight", "1"}};
  const auto with = [&defaults](std::map<std::string, std::string> other) {
    other.insert(defaults.begin(), defaults.end());
    return other;
  };
  return {
      with({}),
      with({{"eta", "0.15"}, {"max_depth", "5"}, {"subsample", "0.8"}, {"colsample_bytree", "0.8"}}),
      with({{"eta", "0.05"}, {"min_child_weight", "5"}, {"subsample", "0.8"}, {"colsample_bytree", "0.5"}}),
      with({{"max_depth", "3"}, {"subsample", "0.8"}}),
      with({{"eta", "0.08"},
            {"max_depth", "9"},
            {"min_child_weight", "10"},
            {"gamma", "1"},
            {"lambda", "10"},
            {"alpha", "1"},
            {"subsample", "0.7"},
            {"colsample_bytree", "0.4"}}),
      with({{"eta", "0.1"},
            {"max_depth", "4"},
            {"min_child_weight", "20"},
            {"max_delta_step", "1"},
            {"subsample", "0.9"},
            {"colsample_bytree", "0.6"}})};
}

// As trainers/gbdt/hyperparameters/hyperparameters.cc takes them, but at least one round: none would report nothing.
BuiltinTrainer Gbdt() {
  BuiltinTrainer trainer;
  trainer.name = "gbdt";
  trainer.program = "winnow-gbdt";
  trainer.resource_parameter = "num_round";
  trainer.default_resource = 10;
  trainer.resource_regex = R"(^\[([0-9]+)\])";
  trainer.resource_offset = 1;
  trainer.metrics = {"auc",
                     "aucpr",
                     "logloss",
                     "error",
                     "rmse",
                     "rmsle",
                     "mae",
                     "mape",
                     "mphe",
                     "mlogloss",
                     "merror",
                     "poisson-nloglik",
                     "gamma-nloglik",
                     "gamma-deviance",
                     "tweedie-nloglik",
                     "quantile",
                     "ndcg",
                     "map",
                     "pre"};
  trainer.metric_regex = kGbdtMetricRegex;
  trainer.metric_examples = {"error@0.7", "tweedie-nloglik@1.3", "ndcg@5", "ndcg@5-", "map-", "pre@10"};
  trainer.metrics_by = "objective";
  trainer.own_metrics = {{"reg:squarederror", {"rmse"}},
                         {"reg:logistic", {"rmse"}},
                         {"binary:logistic", {"logloss"}},
                         {"binary:logitraw", {"logloss"}},
                         {"binary:hinge", {"error"}},
                         {"reg:squaredlogerror", {"rmsle"}},
                         {"reg:absoluteerror", {"mae"}},
                         {"reg:pseudohubererror", {"mphe"}},
                         {"reg:quantileerror", {"quantile"}},
                         {"count:poisson", {"poisson-nloglik"}},
                         {"reg:gamma", {"gamma-nloglik"}},
                         {"reg:tweedie", {"tweedie-nloglik"}},
                         {"multi:softmax", {"mlogloss"}},
                         {"multi:softprob", {"mlogloss"}},
                         {"rank:ndcg", {"map"}},
                         {"rank:pairwise", {"map"}}};
  trainer.hyperparameters = {
      Integer("num_round", 1, 1e7),
      Real("eta", 0, 1),
      Real("lambda", 0),
      Real("alpha", 0),
      Real("gamma", 0),
      Real("min_child_weight", 0),
      Integer("max_depth", 0, 1e6),
      Integer("max_leaves", 0, 1e9),
      Real("max_delta_step", 0),
      Real("subsample", 0, 1, true),
      Real("colsample_bytree", 0, 1),
      Real("colsample_bylevel", 0, 1),
      Real("colsample_bynode", 0, 1),
      Integer("max_bin", 2, 65535),
      Real("scale_pos_weight", 0),
      Real("base_score", {}),
      Integer("seed", 0, 9e15),
      Integer("nthread", 0, 1024, false),
      Integer("num_class", 0, 10000, false),
      Integer("early_stopping_rounds", 0, 1e7),
      Integer("num_parallel_tree", 1, 10000),
      Real("rate_drop", 0, 1),
      Integer("one_drop", 0, 1),
      Real("skip_drop", 0, 1),
      Text("sample_type", {"uniform", "weighted"}),
      Text("normalize_type", {"tree", "forest"}),
      Text("enable_categorical", {"0", "1", "true", "false"}),
      Integer("max_cat_to_onehot", 1, 1e6),
      Integer("max_cat_threshold", 1, 1e6),
      Real("huber_slope", 0, 1e9, true),
      Real("tweedie_variance_power", 1, kMostTweediePower),
      Real("quantile_alpha", 0, 1, false),
      Integer("lambdarank_num_pair_per_sample", 1, 1e6),
      Text("lambdarank_pair_method", {"topk"}, false),
      Integer("ndcg_exp_gain", 0, 1, false),
      Text("monotone_constraints", {}, false),
      Text("interaction_constraints", {}, false),
      Text("objective",
           {"binary:logistic", "binary:logitraw", "binary:hinge", "reg:squarederror", "reg:squaredlogerror",
            "reg:logistic", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror", "count:poisson",
            "reg:gamma", "reg:tweedie", "multi:softmax", "multi:softprob", "rank:ndcg", "rank:pairwise"},
           false),
      Text("eval_metric", {}, false),
      Text("tree_method", {"hist", "exact", "approx", "auto"}),
      Text("booster", {"gbtree", "dart"}),
      Text("grow_policy", {"depthwise", "lossguide"}),
  };
  for (const char* accepted :
       {"lambda_bias", "aft_loss_distribution", "feature_selector", "top_k", "sketch_eps", "refresh_leaf",
        "predictor", "single_precision_histogram", "deterministic_histogram", "verbosity", "silent",
        "validate_parameters", "disable_default_eval_metric", "csv_weights", "num_pairsample",
        "fix_list_weight"}) {
    trainer.hyperparameters.push_back(Text(accepted, {}, false));
  }
  trainer.aliases = {{"learning_rate", "eta"},    {"reg_lambda", "lambda"}, {"reg_alpha", "alpha"},
                     {"min_split_loss", "gamma"}, {"random_state", "seed"}, {"n_jobs", "nthread"}};
  trainer.portfolio = GbdtPortfolio();
  return trainer;
}

}  // namespace

std::string_view BuiltinTrainer::FirstName(std::string_view hyperparameter) const {
  for (const auto& [alias, meant] : aliases) {
    if (alias == hyperparameter) return meant;
  }
  return hyperparameter;
}

const BuiltinHyperparameter* BuiltinTrainer::Find(std::string_view hyperparameter) const {
  const auto found =
      std::find_if(hyperparameters.begin(), hyperparameters.end(),
                   [name = FirstName(hyperparameter)](const auto& known) { return known.name == name; });
  return found == hyperparameters.end() ? nullptr : &*found;
}

const std::vector<BuiltinTrainer>& BuiltinTrainers() {
  static const std::vector<BuiltinTrainer> trainers = {Gbdt(), MlpTrainer()};
  return trainers;
}

const BuiltinTrainer* FindBuiltinTrainer(std::string_view name) {
  for (const BuiltinTrainer& trainer : BuiltinTrainers()) {
    if (trainer.name == name) return &trainer;
  }
  return nullptr;
}

bool IsMetric(const BuiltinTrainer& trainer, const std::string& metric) {
  const auto& known = trainer.metrics;
  return std::find(known.begin(), known.end(), metric) != known.end() ||
         RE2::FullMatch(metric, trainer.metric_regex);
}

std::optional<std::string> ChoiceOf(const BuiltinHyperparameter& known, std::string_view text) {
  if (known.choices.empty()) return std::string(text);
  const auto same = [&known](std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&known](unsigned char x, unsigned char y) {
      return known.any_case ? std::tolower(x) == std::tolower(y) : x == y;
    });
  };
  for (const std::string& choice : known.choices) {
    if (same(choice, text)) return choice;
  }
  for (const auto& [synonym, choice] : known.synonyms) {
    if (same(synonym, text)) return choice;
  }
  return std::nullopt;
}

std::string StaticValue(const v1::TuningJobSpec& spec, std::string_view hyperparameter) {
  const BuiltinTrainer* trainer = FindBuiltinTrainer(spec.trainer().builtin());
  if (trainer == nullptr) return "";
  const std::string_view meant = trainer->FirstName(hyperparameter);
  const auto& given = spec.static_hyperparameters();
  if (const auto own = given.find(std::string(meant)); own != given.end()) return own->second;
  for (const auto& [alias, first] : trainer->aliases) {
    if (first != meant) continue;
    if (const auto found = given.find(alias); found != given.end()) return found->second;
  }
  return "";
}

int64_t FixedEndOf(const v1::TuningJobSpec& spec) {
  const BuiltinTrainer* trainer = FindBuiltinTrainer(spec.trainer().builtin());
  if (trainer == nullptr) return 0;
  const std::string text = StaticValue(spec, trainer->resource_parameter);
  if (text.empty()) return trainer->default_resource;
  double rounds = 0;  // "1e2" is a whole number too
  std::from_chars(text.data(), text.data() + text.size(), rounds);
  return rounds >= 1 && rounds < kMostRounds ? static_cast<int64_t>(rounds) : 0;
}

std::vector<std::string> EvaluatedMetrics(const BuiltinTrainer& trainer, std::string_view eval_metric,
                                          std::string_view chosen) {
  std::vector<std::string> metrics;
  const auto add = [&metrics](std::string_view name) {
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (std::find(metrics.begin(), metrics.end(), name) == metrics.end()) metrics.emplace_back(name);
  };
  if (eval_metric.empty()) {
    const BuiltinHyperparameter* by = trainer.Find(trainer.metrics_by);
    const std::string meant = by == nullptr ? "" : ChoiceOf(*by, chosen).value_or("");
    for (const BuiltinMetrics& own : trainer.own_metrics) {
      if (own.of == meant) return own.metrics;
    }
    return trainer.own_metrics.front().metrics;
  }
  const auto list = nlohmann::json::parse(eval_metric.begin(), eval_metric.end(), nullptr, false);
  if (list.is_array()) {
    for (const auto& name : list) add(name.is_string() ? name.get<std::string>() : name.dump());
    return metrics;
  }
  for (size_t from = 0; from <= eval_metric.size();) {
    const size_t comma = std::min(eval_metric.find(',', from), eval_metric.size());
    add(eval_metric.substr(from, comma - from));
    from = comma + 1;
  }
  return metrics;
}

std::vector<std::string> PrintedMetrics(const v1::TuningJobSpec& spec) {
  const BuiltinTrainer* trainer = FindBuiltinTrainer(spec.trainer().builtin());
  if (trainer == nullptr) return {};
  const auto train = spec.channels().find("train");
  const bool split = train != spec.channels().end() && train->second.validation_fraction() > 0;
  const bool validates = split || spec.channels().count("validation") > 0;
  const std::vector<std::string> evaluated =
      EvaluatedMetrics(*trainer, StaticValue(spec, "eval_metric"), StaticValue(spec, trainer->metrics_by));
  std::vector<std::string> printed;
  if (!trainer->trains_as_it_validates) printed = MlpTrainingMetrics(spec, evaluated, validates);
  for (const std::string& metric : evaluated) {
    if (trainer->trains_as_it_validates) printed.push_back("train:" + metric);
    if (validates) printed.push_back("validation:" + metric);
  }
  return printed;
}

std::string PrintedMetricRegex(std::string_view part, std::string_view metric) {
  return PrintedMetricRegex(std::string(part) + ":" + std::string(metric));
}

std::string PrintedMetricRegex(const std::string& printed) {
  std::string name = printed;
  if (const size_t colon = name.find(':'); colon != std::string::npos) name[colon] = '-';
  return R"((?:^|\s))" + RE2::QuoteMeta(name) + R"(:(\S+))";
}

}  // namespace winnow
