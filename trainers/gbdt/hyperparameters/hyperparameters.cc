#include "trainers/gbdt/hyperparameters/hyperparameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bounded_json.h"
#include "trainers/gbdt/hyperparameters/hyperparameter_names.h"
#include "trainers/hyperparameters/json_object.h"

namespace winnow::gbdt {
namespace {

using Json = nlohmann::json;
using P = GbdtParameters;
using F = Fields<P>;
using ValueKind = Hyperparameter::Kind;

constexpr int kMostDepth = 2;  // of a hyperparameter that is a list of lists of names

template <class Enum>
constexpr Word WordFor(std::string_view text, Enum value) {
  return {text, static_cast<int64_t>(value)};
}
constexpr Word kObjectives[] = {
    WordFor("binary:logistic", ObjectiveKind::kBinaryLogistic),
    WordFor("binary:logitraw", ObjectiveKind::kBinaryLogitRaw),
    WordFor("binary:hinge", ObjectiveKind::kBinaryHinge),
    WordFor("reg:squarederror", ObjectiveKind::kSquaredError),
    WordFor("reg:squaredlogerror", ObjectiveKind::kSquaredLogError),
    WordFor("reg:logistic", ObjectiveKind::kRegLogistic),
    WordFor("reg:absoluteerror", ObjectiveKind::kAbsoluteError),
    WordFor("reg:pseudohubererror", ObjectiveKind::kPseudoHuber),
    WordFor("reg:quantileerror", ObjectiveKind::kQuantile),
    WordFor("count:poisson", ObjectiveKind::kPoisson),
    WordFor("reg:gamma", ObjectiveKind::kGamma),
    WordFor("reg:tweedie", ObjectiveKind::kTweedie),
    WordFor("multi:softmax", ObjectiveKind::kSoftMax),
    WordFor("multi:softprob", ObjectiveKind::kSoftProb),
    WordFor("rank:ndcg", ObjectiveKind::kRankNdcg),
    WordFor("rank:pairwise", ObjectiveKind::kRankPairwise),
};
constexpr Word kBoosters[] = {WordFor("gbtree", BoosterKind::kTree), WordFor("dart", BoosterKind::kDart)};
constexpr Word kPolicies[] = {WordFor("depthwise", GrowPolicy::kDepthWise),
                              WordFor("lossguide", GrowPolicy::kLossGuide)};
constexpr Word kTruths[] = {{"0", 0}, {"1", 1}, {"false", 0}, {"true", 1}};
constexpr Word kMultiHessians[] = {{"xgboost", 0}, {"lightgbm", 1}};
constexpr Word kGradientBits[] = {{"16", 0}, {"30", 1}};
constexpr Word kSampleTypes[] = {{"uniform", 0}, {"weighted", 1}};
constexpr Word kNormalizeTypes[] = {{"tree", 0}, {"forest", 1}};
constexpr Word kTreeMethods[] = {{"hist", 0}, {"exact", 1}, {"approx", 2}, {"auto", 3}};
constexpr Word kPairMethods[] = {{"topk", 0}};

constexpr Field<P> Ignored(std::string_view name) {
  return F::Fixed(F::Other({name, ValueKind::kIgnored, {}, {}, "no effect; a warning says so"}));
}
constexpr Field<P> Text(std::string_view name, std::string_view meaning) {
  return F::Fixed(F::Other({name, ValueKind::kText, {}, {}, meaning}));
}

constexpr Field<P> kFields[] = {
    F::Fixed(F::Choice<&P::objective>("objective", kObjectives, "the loss that trees lower")),
    F::Fixed(
        F::Whole<&P::num_class>("num_class", 0, 10'000, "classes of `multi:softprob` and `multi:softmax`")),
    F::Choice<&P::friedman_hessian>(
        "multi_hessian", kMultiHessians,
        "of `multi:softprob` and `multi:softmax`: the hessian of a class of probability p, with K "
        "classes: 2 p (1 - p) as in XGBoost, or K / (K - 1) p (1 - p) as in LightGBM, which makes "
        "leaves up to twice as large"),
    Text(
        "eval_metric",
        "`auc`, `aucpr`, `logloss`, `error`, `error@t`, `rmse`, `rmsle`, `mae`, `mape`, `mphe`, `mlogloss`, "
        "`merror`, `poisson-nloglik`, `gamma-nloglik`, `gamma-deviance`, `tweedie-nloglik@p`, `quantile`, "
        "`ndcg@k`, `map@k`, `pre@k` (with `-` at the end a query without a relevant row counts 0), or of the "
        "image of SageMaker `accuracy`, `f1` (the mean over classes) and `mse`, or a list of them; "
        "by default the metric of the objective"),
    F::Whole<&P::num_round>("num_round", 0, 1e7, "boosting rounds, in a job at least 1"),
    F::Whole<&P::early_stopping_rounds>(
        "early_stopping_rounds", 0, 1e7,
        "training ends after this many rounds without a better last metric on the validation data; 0: never"),
    F::Changing(F::Real("eta", &P::eta, {0, 1}, "learning rate: each leaf is multiplied by it")),
    F::Changing(F::Real("lambda", &P::lambda, From(0), "L2 penalty of leaves")),
    F::Changing(F::Real("alpha", &P::alpha, From(0), "L1 penalty of leaves")),
    F::Changing(F::Real("gamma", &P::gamma, From(0), "least gain of a split")),
    F::Changing(
        F::Real("min_child_weight", &P::min_child_weight, From(0), "least sum of hessians of a leaf")),
    F::Changing(F::Real("max_delta_step", &P::max_delta_step, From(0),
                        "largest leaf before `eta`; 0: any. With `count:poisson` 0.7 unless given")),
    F::Changing(F::Whole<&P::max_depth>("max_depth", 0, 1e6, "depth of a tree; 0: no limit")),
    F::Changing(F::Whole<&P::max_leaves>("max_leaves", 0, 1e9, "leaves of a tree; 0: no limit")),
    F::Choice<&P::grow_policy>("grow_policy", kPolicies, "which leaf is split next"),
    F::Whole<&P::max_bin>("max_bin", 2, 65'535, "bins of a feature"),
    F::Changing(
        F::Real("subsample", &P::subsample, MoreThan(0, 1), "share of the rows that a tree is grown from")),
    F::Changing(F::Real("colsample_bytree", &P::colsample_bytree, {0, 1},
                        "share of the columns of a tree, at least one")),
    F::Changing(F::Real("colsample_bylevel", &P::colsample_bylevel, {0, 1},
                        "share of these of a level, at least one")),
    F::Changing(
        F::Real("colsample_bynode", &P::colsample_bynode, {0, 1}, "share of these of a split, at least one")),
    F::Real("scale_pos_weight", &P::scale_pos_weight, {0, 1e9}, "weight of rows with label 1"),
    F::Real("base_score", &P::base_score, {-1e15, 1e15},
            "the prediction before the first tree; `reg:absoluteerror` and `reg:quantileerror` estimate it"),
    F::Whole<&P::num_parallel_tree>("num_parallel_tree", 1, 10'000, "trees of a round"),
    F::Choice<&P::booster>("booster", kBoosters, "`dart` leaves out earlier trees at random"),
    F::Real("rate_drop", &P::rate_drop, {0, 1}, "of `dart`: share of the trees that a round leaves out"),
    F::Real("skip_drop", &P::skip_drop, {0, 1}, "of `dart`: probability that a round leaves out none"),
    F::Truth<&P::one_drop>("one_drop", kTruths, "of `dart`: a round leaves out at least one tree"),
    F::Choice<&P::dart_weighted_sample>("sample_type", kSampleTypes, "of `dart`: how trees are drawn"),
    F::Choice<&P::dart_forest>("normalize_type", kNormalizeTypes, "of `dart`: weight of a new tree"),
    F::Truth<&P::enable_categorical>("enable_categorical", kTruths,
                                     "a text column stays one feature whose values are categories"),
    F::Whole<&P::max_cat_to_onehot>("max_cat_to_onehot", 1, 1e6,
                                    "a feature with fewer categories is split one category from the others"),
    F::Whole<&P::max_cat_threshold>("max_cat_threshold", 1, 1e6, "most categories on one side of a split"),
    Text("monotone_constraints",
         "-1, 0 or 1 for each feature, as `(1,-1,0)`, `[1,-1,0]` or `{\"feature\": 1}`"),
    Text("interaction_constraints",
         "a list of lists of feature names or numbers: only features of one list meet on a path"),
    F::Real("huber_slope", &P::huber_slope, MoreThan(0, 1e9),
            "of `reg:pseudohubererror`: where it turns linear"),
    F::Real("tweedie_variance_power", &P::tweedie_variance_power, LessThan(1, 2), "of `reg:tweedie`"),
    F::Real("quantile_alpha", &P::quantile_alpha, {0, 1}, "of `reg:quantileerror`: the quantile"),
    F::Whole<&P::lambdarank_num_pair_per_sample>("lambdarank_num_pair_per_sample", 1, 1e6,
                                                 "of `rank:ndcg` and `rank:pairwise`: the first rows of a "
                                                 "query that are paired with all rows below them"),
    F::Fixed(F::Other({"lambdarank_pair_method", ValueKind::kWord, {}, kPairMethods, "how rows are paired"})),
    F::Fixed(F::Truth<&P::ndcg_exp_gain>("ndcg_exp_gain", kTruths,
                                         "a label's gain is 2^label - 1, not the label")),
    F::Other({"tree_method", ValueKind::kWord, {}, kTreeMethods, "each runs as `hist`"}),
    F::Whole<&P::seed>("seed", 0, std::numeric_limits<double>::infinity(),
                       "in a job the trial's own unless given"),
    F::Choice<&P::wide_gradients>("gradient_bits", kGradientBits,
                                  "bits that a row's gradient and hessian are rounded to: 16, up or down by "
                                  "a hash of seed and row, or 30, "
                                  "where the seed decides samples only; rounds then take longer"),
    F::Fixed(F::Truth<&P::model_size>("model_size", kTruths,
                                      "reports the metric `model:leaves`, the leaves of all trees so far")),
    F::Fixed(F::Truth<&P::prediction_time>("prediction_time", kTruths,
                                           "reports the metric `prediction:microseconds_per_row`, the "
                                           "time that one thread takes to predict with all trees so far")),
    F::Fixed(
        F::Whole<&P::nthread>("nthread", 0, 1024, "threads; 0: one per processor; it changes no result")),
    Ignored("lambda_bias"),
    Ignored("aft_loss_distribution"),
    Ignored("feature_selector"),
    Ignored("top_k"),
    Ignored("sketch_eps"),
    Ignored("refresh_leaf"),
    Ignored("predictor"),
    Ignored("single_precision_histogram"),
    Ignored("deterministic_histogram"),
    Ignored("verbosity"),
    Ignored("device"),
    Ignored("gpu_id"),
    Ignored("importance_type"),
    Ignored("sampling_method"),
    Ignored("use_label_encoder"),
    Ignored("silent"),
    Ignored("validate_parameters"),
    Ignored("disable_default_eval_metric"),
    Ignored("csv_weights"),
    Ignored("num_pairsample"),
    Ignored("fix_list_weight"),
    Ignored("aft_loss_distribution_scale"),
    Ignored("dsplit"),
    Ignored("prob_buffer_row"),
    Ignored("max_cached_hist_node"),
    Ignored("save_model_on_termination"),
    Ignored("use_dask_gpu_training"),
};

// Second names of XGBoost, its wrappers for scikit-learn, and LightGBM.
constexpr Declaration::SecondName kSecondNames[] = {
    {"learning_rate", "eta"},      {"reg_lambda", "lambda"},         {"reg_alpha", "alpha"},
    {"min_split_loss", "gamma"},   {"random_state", "seed"},         {"n_jobs", "nthread"},
    {"n_estimators", "num_round"}, {"num_boost_round", "num_round"}, {"num_iterations", "num_round"},
};

constexpr double kPoissonMaxDeltaStep = 0.7;  // XGBoost's, so that e^margin cannot run away
constexpr const char* kBaseScore = "base_score";
constexpr const char* kEstimated = "estimated";  // base_score of an objective that estimates it

// Hyperparameters that have an effect only with a booster, an objective or a metric.
struct SpecialCase {
  const char* name;
  bool (*matters)(const P&);
  const char* where;
};
bool IsDart(const P& p) { return p.booster == BoosterKind::kDart; }
bool Uses(const P& p, ObjectiveKind objective, Metric::Kind metric) {
  const auto same = [metric](const Metric& known) { return known.kind == metric; };
  return p.objective == objective || std::any_of(p.metrics.begin(), p.metrics.end(), same);
}
constexpr SpecialCase kSpecial[] = {
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
    {"multi_hessian", [](const auto& p) { return p.multi(); }, "objectives multi:*"},
    {"huber_slope", [](const auto& p) { return Uses(p, ObjectiveKind::kPseudoHuber, Metric::kPseudoHuber); },
     "objective reg:pseudohubererror or eval_metric mphe"},
    {"lambdarank_num_pair_per_sample", [](const auto& p) { return p.ranking(); }, "objectives rank:*"},
};

P Known(const Given& given) { return KnownParameters<P>(kFields, given); }

std::vector<std::string> EvaluatedMetrics(const Given& given) {
  const auto names = given.values.find("eval_metric");
  return names == given.values.end()
             ? std::vector<std::string>{MetricName(DefaultMetric(Known(given).objective))}
             : ReadNames(names->second);
}

// Whether a prediction stands for a class.
bool HasLabels(ObjectiveKind objective) {
  switch (objective) {
    case ObjectiveKind::kBinaryLogistic:
    case ObjectiveKind::kBinaryLogitRaw:
    case ObjectiveKind::kBinaryHinge:
    case ObjectiveKind::kRegLogistic:
    case ObjectiveKind::kSoftMax:
    case ObjectiveKind::kSoftProb:
      return true;
    default:
      return false;
  }
}

void CheckMetrics(const P& p, const Given& given, CrossChecks* checks) {
  const std::vector<std::string> names = EvaluatedMetrics(given);
  if (names.empty())
    checks->Refuse("eval_metric", "[]", "a name, names with commas between, or a JSON list of names");
  for (const std::string& name : names) {
    std::string expected;
    if (const std::optional<Metric> metric = ParseMetric(name, &expected);
        metric && given.open.count("objective") == 0) {
      const bool of_classes = metric->kind == Metric::kMultiLogLoss || metric->kind == Metric::kMultiError;
      const bool of_labels = metric->kind == Metric::kAccuracy || metric->kind == Metric::kF1;
      const bool of_both = metric->kind == Metric::kAuc || metric->kind == Metric::kAucPr || of_labels;
      if (of_classes != p.multi() && !of_both)
        expected = fmt::format("{} with objective {}",
                               p.multi() ? "mlogloss, merror, auc, aucpr, accuracy or f1"
                                         : "another metric than mlogloss and merror",
                               ObjectiveName(p.objective));
      if (of_labels && !HasLabels(p.objective))
        expected = fmt::format("it with an objective of classes, such as binary:logistic, and not {}",
                               ObjectiveName(p.objective));
    }
    if (!expected.empty()) checks->Refuse("eval_metric", name, expected);
  }
}

std::vector<Contradiction> Contradictions(const Given& given) {
  const P p = Known(given);
  const std::string with = std::string(" with objective ") + ObjectiveName(p.objective);
  CrossChecks checks(given);
  checks.Expect(!p.multi() || p.num_class >= 2, {"num_class", "objective"}, "at least 2" + with);
  checks.Expect(p.multi() || p.num_class <= 1, {"num_class", "objective"}, "none, 0 or 1" + with);
  switch (p.objective) {
    case ObjectiveKind::kBinaryLogistic:
    case ObjectiveKind::kRegLogistic:
      checks.Expect(p.base_score > 0 && p.base_score < 1, {kBaseScore, "objective"},
                    "a number of more than 0 and less than 1" + with);
      break;
    case ObjectiveKind::kPoisson:
    case ObjectiveKind::kGamma:
    case ObjectiveKind::kTweedie:
      checks.Expect(p.base_score > 0, {kBaseScore, "objective"}, "a number of more than 0" + with);
      break;
    default:
      break;
  }
  CheckMetrics(p, given, &checks);
  return checks.Take();
}

absl::Status ReadMonotone(const GivenValue& asked, P* parameters) {
  const Json& value = asked.value;
  const char* expected = R"=(-1, 0 or 1 per feature as "(1,-1,0)", [1,-1,0] or {"feature": 1})=";
  Json given = value;
  if (value.is_string()) {
    std::string text(Trimmed(value.get_ref<const std::string&>()));
    if (text.size() >= 2 && text.front() == '(' && text.back() == ')') {
      if (text[text.size() - 2] == ',') text.erase(text.size() - 2, 1);  // Python's "(1,)"
      text.front() = '[';
      text.back() = ']';
    }
    if (text.empty()) return absl::OkStatus();
    given = ParseBoundedJson(text, kMostDepth);
  }
  if (!given.is_array() && !given.is_object()) return BadValue(asked, expected);
  for (const auto& [feature, entry] : given.items()) {
    const std::optional<int64_t> direction = ReadWhole(Shown(entry));
    if (!direction || *direction < -1 || *direction > 1) return BadValue(asked, expected);
    if (given.is_array())
      parameters->monotone_constraints.push_back(static_cast<int>(*direction));
    else
      parameters->monotone_by_name[feature] = static_cast<int>(*direction);
  }
  return absl::OkStatus();
}

absl::Status ReadInteractions(const GivenValue& asked, P* parameters) {
  const Json& value = asked.value;
  const char* expected = R"(a list of lists of feature names or numbers, as [["age", "sex"], [0, 2]])";
  Json given = value;
  if (value.is_string()) {
    const std::string_view text = Trimmed(value.get_ref<const std::string&>());
    if (text.empty()) return absl::OkStatus();
    given = ParseBoundedJson(text, kMostDepth);
  }
  if (!given.is_array()) return BadValue(asked, expected);
  for (const Json& group : given) {
    if (!group.is_array()) return BadValue(asked, expected);
    std::vector<std::string>& features = parameters->interaction_constraints.emplace_back();
    for (const Json& feature : group) {
      if (!feature.is_string() && !feature.is_number_unsigned()) return BadValue(asked, expected);
      features.push_back(Shown(feature));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadOne(const std::string& name, const GivenValue& given, P* p,
                     std::vector<std::string>* warnings) {
  const Field<P>& field = *FindField<P>(kFields, name);
  const std::string text = Shown(given.value);
  if (name == "monotone_constraints") return ReadMonotone(given, p);
  if (name == "interaction_constraints") return ReadInteractions(given, p);
  if (name == kBaseScore && text == kEstimated) return absl::OkStatus();
  if (!ReadInto(field, text, p)) return BadValue(given, Expected(field, text));
  if (name == kBaseScore) p->base_score_given = true;
  if (name == "seed") p->seed_given = true;
  if (name == "tree_method" && text != "hist")
    warnings->push_back(fmt::format("tree_method {} runs as hist", text));
  if (field.kind == ValueKind::kIgnored)
    warnings->push_back(fmt::format("hyperparameter {} = {} has no effect here", name, text));
  return absl::OkStatus();
}

}  // namespace

const Declaration& GbdtDeclaration() {
  static const Declaration declaration = [] {
    Declaration gbdt = Declare<P>("winnow-gbdt", kFields);
    gbdt.second_names = kSecondNames;
    gbdt.metrics = EvaluatedMetrics;
    gbdt.contradictions = Contradictions;
    return gbdt;
  }();
  return declaration;
}

std::vector<std::string> ModelMetrics(const Given& given) { return ModelMetrics(Known(given)); }

std::vector<std::string> ModelMetrics(const GbdtParameters& parameters) {
  std::vector<std::string> names;
  if (parameters.model_size) names.emplace_back(kModelLeaves);
  if (parameters.prediction_time) names.emplace_back(kPredictionTime);
  return names;
}

const char* ObjectiveName(ObjectiveKind kind) {
  return WordOf(*FindField<P>(kFields, "objective"), static_cast<int64_t>(kind)).data();
}

std::optional<ObjectiveKind> FindObjective(std::string_view name) {
  const std::optional<Reading> reading = Read(*FindField<P>(kFields, "objective"), name);
  return reading ? std::optional(static_cast<ObjectiveKind>(reading->whole)) : std::nullopt;
}

absl::StatusOr<GbdtParameters> ParseHyperparameters(const std::string& json_object,
                                                    std::vector<std::string>* warnings) {
  const auto values = ReadHyperparameters(GbdtDeclaration(), json_object);
  if (!values.ok()) return values.status();
  GbdtParameters parameters;
  for (const auto& [name, given] : *values) {
    if (absl::Status status = ReadOne(name, given, &parameters, warnings); !status.ok()) return status;
  }
  if (absl::Status status = CheckTogether(GbdtDeclaration(), *values); !status.ok()) return status;
  const Given given = TextsOf(*values);
  for (const std::string& name : EvaluatedMetrics(given)) parameters.metrics.push_back(*ParseMetric(name));
  if (parameters.objective == ObjectiveKind::kPoisson && !given.Has("max_delta_step"))
    parameters.max_delta_step = kPoissonMaxDeltaStep;
  for (const SpecialCase& special : kSpecial) {
    if (given.Has(special.name) && !special.matters(parameters))
      warnings->push_back(
          fmt::format("hyperparameter {} has no effect but with {}", special.name, special.where));
  }
  return parameters;
}

std::map<std::string, std::string> ModelHyperparameters(const GbdtParameters& parameters) {
  std::map<std::string, std::string> values;
  for (const Field<P>& field : kFields) {
    if (field.has_member()) values[std::string(field.name)] = ValueText(field, parameters);
  }
  values.erase("num_round");
  values.erase("nthread");
  values.erase("model_size");
  values.erase("prediction_time");
  // As before there was a choice, so that checkpoints go on.
  if (!parameters.wide_gradients) values.erase("gradient_bits");
  if (!parameters.friedman_hessian) values.erase("multi_hessian");
  if (EstimatesBaseScore(parameters.objective) && !parameters.base_score_given)
    values[kBaseScore] = kEstimated;
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
