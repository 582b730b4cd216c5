#include "trainers/gbdt/hyperparameters/hyperparameters.h"

#include <nlohmann/json.hpp>

#include "base/status_text.h"
#include "tests/catch.h"
#include "trainers/gbdt/hyperparameters/hyperparameter_constraints.h"

namespace winnow::gbdt {
namespace {

absl::StatusOr<GbdtParameters> Parse(const std::string& json) {
  std::vector<std::string> warnings;
  return ParseHyperparameters(json, &warnings);
}

TEST_CASE("Hyperparameters: numbers and strings that hold numbers are the same", "[gbdt]") {
  const auto numbers =
      Parse(R"({"objective": "binary:logistic", "num_round": 150, "eta": 0.3, "max_depth": 6.0,
                                 "seed": 9223372036854775807, "colsample_bylevel": 0})");
  const auto strings =
      Parse(R"({"objective": "binary:logistic", "num_round": "150", "eta": " 0.3 ", "max_depth": "6",
                                 "seed": "9223372036854775807", "colsample_bylevel": "0.0"})");
  REQUIRE(numbers.ok());
  REQUIRE(strings.ok());
  CHECK(numbers->num_round == 150);
  CHECK(numbers->eta == 0.3);
  CHECK(numbers->max_depth == 6);
  CHECK(numbers->seed == 9223372036854775807);
  CHECK(ModelHyperparameters(*numbers) == ModelHyperparameters(*strings));
  CHECK(strings->num_round == 150);
}

TEST_CASE("Hyperparameters: defaults are XGBoost's", "[gbdt]") {
  const auto p = Parse("{}");
  REQUIRE(p.ok());
  CHECK(p->objective == ObjectiveKind::kSquaredError);
  CHECK(p->metrics == std::vector<Metric>{Metric::kRmse});
  CHECK(p->eta == 0.3);
  CHECK(p->max_depth == 6);
  CHECK(p->min_child_weight == 1);
  CHECK(p->lambda == 1);
  CHECK(Parse(R"({"objective": "binary:logistic"})")->metrics == std::vector<Metric>{Metric::kLogLoss});
  CHECK(Parse(R"({"objective": "binary:logitraw"})")->metrics == std::vector<Metric>{Metric::kLogLoss});
  CHECK(Parse(R"({"objective": "multi:softprob", "num_class": 3})")->metrics ==
        std::vector<Metric>{Metric::kMultiLogLoss});
}

TEST_CASE("Hyperparameters: eval_metric is a name, a list with commas or a JSON list", "[gbdt]") {
  const std::vector<Metric> expected{Metric::kAuc, Metric::kError};
  for (const char* value :
       {R"("auc,error")", R"("auc, error")", R"(["auc", "error"])", R"("[\"auc\", \"error\"]")"}) {
    const auto p = Parse(std::string(R"({"objective": "binary:logistic", "eval_metric": )") + value + "}");
    REQUIRE(p.ok());
    CHECK(p->metrics == expected);
  }
}

TEST_CASE("Hyperparameters: XGBoost's second names mean the same", "[gbdt]") {
  const auto p = Parse(R"({"learning_rate": 0.1, "reg_alpha": 2, "min_split_loss": 3, "n_jobs": 2,
      "n_estimators": 40, "random_state": 7})");
  REQUIRE(p.ok());
  CHECK(p->num_round == 40);
  CHECK(p->seed == 7);
  CHECK(p->eta == 0.1);
  CHECK(p->alpha == 2);
  CHECK(p->gamma == 3);
  CHECK(p->nthread == 2);
}

TEST_CASE("Hyperparameters: what has no effect is said", "[gbdt]") {
  std::vector<std::string> warnings;
  REQUIRE(
      ParseHyperparameters(R"({"rate_drop": 0.3, "tree_method": "exact", "booster": "gbtree"})", &warnings)
          .ok());
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0] == "tree_method exact runs as hist");
  CHECK(warnings[1] == "hyperparameter rate_drop has no effect but with booster dart");
  warnings.clear();
  // What only the image of SageMaker knows.
  for (const char* name : {"save_model_on_termination", "use_dask_gpu_training", "dsplit", "prob_buffer_row"})
    REQUIRE(ParseHyperparameters(std::string("{\"") + name + "\": \"true\"}", &warnings).ok());
  CHECK(warnings.size() == 4);
}

TEST_CASE("Hyperparameters: multi_hessian is of several classes, and models before it was there go on",
          "[gbdt]") {
  std::vector<std::string> warnings;
  const auto classes = ParseHyperparameters(
      R"({"objective": "multi:softprob", "num_class": 26, "multi_hessian": "lightgbm"})", &warnings);
  REQUIRE(classes.ok());
  CHECK(warnings.empty());
  CHECK(classes->multi_hessian_factor() == Approx(26.0 / 25));
  CHECK(ModelHyperparameters(*classes).at("multi_hessian") == "lightgbm");
  const auto usual = ParseHyperparameters(R"({"multi_hessian": "xgboost"})", &warnings);
  REQUIRE(usual.ok());
  CHECK(usual->multi_hessian_factor() == 2);
  CHECK(warnings ==
        std::vector<std::string>{"hyperparameter multi_hessian has no effect but with objectives multi:*"});
  CHECK(ModelHyperparameters(*usual).count("multi_hessian") == 0);
}

TEST_CASE("Hyperparameters: bad ones are refused by name, value and expectation", "[gbdt]") {
  const struct {
    const char* json;
    const char* expected;
  } kCases[] = {
      {R"({"etta": 0.1})", "unknown hyperparameter etta; did you mean eta?"},
      {R"({"max_dept": 3})", "unknown hyperparameter max_dept; did you mean max_depth?"},
      {R"({"colsample_by_tree": 1})", "did you mean colsample_bytree?"},
      {R"({"monotone_constraints": "1,0"})", "monotone_constraints = 1,0: expected -1, 0 or 1 per feature"},
      {R"({"monotone_constraints": [2]})", "monotone_constraints = [2]: expected -1, 0 or 1 per feature"},
      {R"({"interaction_constraints": "[0, 1]"})",
       "interaction_constraints = [0, 1]: expected a list of lists"},
      {R"({"interaction_constraints": [[1.5]]})",
       "interaction_constraints = [[1.5]]: expected a list of lists"},
      {R"({"tweedie_variance_power": 2})",
       "tweedie_variance_power = 2: expected a number of at least 1 and less than 2"},
      {R"({"huber_slope": 0})", "huber_slope = 0: expected a number of more than 0"},
      {R"({"sample_type": "odd"})", "sample_type = odd: expected one of uniform, weighted"},
      {R"({"one_drop": "maybe"})", "one_drop = maybe: expected one of 0, 1"},
      {R"({"num_parallel_tree": 0})",
       "num_parallel_tree = 0: expected a whole number of at least 1 and at most 10000"},
      {R"({"lambdarank_pair_method": "mean"})", "lambdarank_pair_method = mean: expected one of topk"},
      {R"({"objective": "count:poisson", "base_score": 0})",
       "base_score = 0: expected a number of more than 0"},
      {R"({"eval_metric": "ndcg@0"})",
       "eval_metric = ndcg@0: expected a whole number in [1, 1000000] behind @"},
      {R"({"eval_metric": "error@0.70"})", "eval_metric = error@0.70: expected it written as error@0.7"},
      {R"({"eval_metric": "rmse-"})", "eval_metric = rmse-: expected no - at the end"},
      {R"({"eta": 1.5})", "hyperparameter eta = 1.5: expected a number of at least 0 and at most 1"},
      {R"({"eta": -0.1})", "hyperparameter eta = -0.1: expected a number of at least 0 and at most 1"},
      {R"({"eta": "fast"})", "hyperparameter eta = fast: expected a number of at least 0 and at most 1"},
      {R"({"eta": "0.3x"})", "hyperparameter eta = 0.3x: expected a number"},
      {R"({"eta": ""})", "hyperparameter eta = : expected a number"},
      {R"({"eta": "nan"})", "hyperparameter eta = nan: expected a number"},
      {R"({"eta": true})", "hyperparameter eta = true: expected a number"},
      {R"({"eta": null})", "hyperparameter eta = null: expected a number"},
      {R"({"eta": [0.1]})", "hyperparameter eta = [0.1]: expected a number"},
      {R"({"subsample": 0})", "hyperparameter subsample = 0: expected a number of more than 0 and at most 1"},
      {R"({"lambda": -1})", "hyperparameter lambda = -1: expected a number of at least 0"},
      {R"({"lambda": "inf"})", "hyperparameter lambda = inf: expected a number of at least 0"},
      {R"({"max_depth": 2.5})",
       "hyperparameter max_depth = 2.5: expected a whole number of at least 0 and at most 1000000"},
      {R"({"max_depth": -1})", "hyperparameter max_depth = -1: expected a whole number"},
      {R"({"num_round": "many"})", "hyperparameter num_round = many: expected a whole number"},
      {R"({"num_round": 1e300})", "hyperparameter num_round = 1e+300: expected a whole number"},
      {R"({"seed": 9223372036854775808})",
       "hyperparameter seed = 9223372036854775808: expected a whole number"},
      {R"({"max_bin": 1})",
       "hyperparameter max_bin = 1: expected a whole number of at least 2 and at most 65535"},
      {R"({"objective": "binary:hinges"})",
       "hyperparameter objective = binary:hinges: expected one of binary:logistic"},
      {R"({"objective": 3})", "hyperparameter objective = 3: expected one of"},
      {R"({"eval_metric": "acc"})", "hyperparameter eval_metric = acc: expected one of auc"},
      {R"({"eval_metric": "rmse,"})", "hyperparameter eval_metric = : expected one of"},
      {R"({"eval_metric": []})", "hyperparameter eval_metric = []: expected a name"},
      {R"({"eval_metric": [1]})", "hyperparameter eval_metric = 1: expected one of auc"},
      {R"({"eval_metric": "mlogloss"})",
       "eval_metric = mlogloss: expected another metric than mlogloss and merror"},
      {R"({"objective": "multi:softprob", "num_class": 3, "eval_metric": "rmse"})",
       "expected mlogloss, merror, auc, aucpr, accuracy or f1"},
      {R"({"eval_metric": "accuracy"})",
       "eval_metric = accuracy: expected it with an objective of classes, such as binary:logistic, and not "
       "reg:squarederror"},
      {R"({"objective": "multi:softprob"})",
       "hyperparameter num_class = 0: expected at least 2 with objective multi:softprob"},
      {R"({"num_class": 3})", "hyperparameter num_class = 3: expected none"},
      {R"({"objective": "binary:logistic", "base_score": 1})",
       "hyperparameter base_score = 1: expected a number of more than 0 and less than 1"},
      {R"({"tree_method": "gpu_hist"})",
       "hyperparameter tree_method = gpu_hist: expected one of hist, exact"},
      {R"({"booster": "gblinear"})", "hyperparameter booster = gblinear: expected one of gbtree, dart"},
      {R"({"grow_policy": "best"})",
       "hyperparameter grow_policy = best: expected one of depthwise, lossguide"},
      {R"({"eta": 0.1, "learning_rate": 0.2})",
       "hyperparameter eta is given twice, as eta and as learning_rate"},
      {R"({"n_jobs": -1})", "hyperparameter n_jobs = -1: expected a whole number of at least 0"},
      {R"({"learning-rate": 2})", "hyperparameter learning-rate = 2: expected a number"},
      {R"({"huber_slope": 1e-300})",
       "hyperparameter huber_slope = 1e-300: expected a number of more than 0 and at most 1000000000, "
       "also when rounded to a 32-bit float"},
      {R"({"eval_metric": "AUC"})", "; did you mean auc?"},
      {R"({"eta": 0.1, "gamma": 1, "eta": 0.2})", "hyperparameter eta is given twice"},
      {R"([1, 2])", "expected a JSON object"},
      {R"({"eta": )", "not valid JSON"},
      {"", "not valid JSON"},
      {R"({"eta": 1e999})",
       "hyperparameters: number overflow parsing '1e999'; expected numbers up to 1.8e308"},
  };
  for (const auto& c : kCases) {
    const auto parsed = Parse(c.json);
    INFO(c.json);
    REQUIRE_FALSE(parsed.ok());
    CHECK_THAT(MessageOf(parsed.status()), Catch::Contains(c.expected));
  }
}

// The model's hyperparameters, written and read again.
std::map<std::string, std::string> ReadBack(const GbdtParameters& parameters) {
  const auto again = Parse(nlohmann::json(ModelHyperparameters(parameters)).dump());
  INFO(again.status());
  REQUIRE(again.ok());
  return ModelHyperparameters(*again);
}

TEST_CASE("Hyperparameters: what the model records reads back as the same", "[gbdt]") {
  for (
      const char* json : {
          R"({"objective": "multi:softprob", "num_class": 4, "eta": 0.1, "eval_metric": "merror,mlogloss",
               "seed": 77, "colsample_bynode": 0.3333333333333333})",
          R"({"booster": "dart", "rate_drop": 0.1, "one_drop": 1, "skip_drop": 0.5, "sample_type": "weighted",
               "normalize_type": "forest", "grow_policy": "lossguide", "num_parallel_tree": 3})",
          R"=({"monotone_constraints": "(1,-1,0)", "interaction_constraints": "[[0, \"age\"], [2]]"})=",
          R"({"monotone_constraints": {"age": -1}, "enable_categorical": true, "max_cat_to_onehot": 7})",
          R"({"objective": "reg:absoluteerror"})",
          R"({"objective": "rank:ndcg", "eval_metric": ["ndcg@5-", "map@3"], "ndcg_exp_gain": false})",
      }) {
    INFO(json);
    const auto p = Parse(json);
    REQUIRE(p.ok());
    CHECK(ReadBack(*p) == ModelHyperparameters(*p));
  }
}

TEST_CASE("Hyperparameters: an estimated base_score is no given one", "[gbdt]") {
  auto p = Parse(R"({"objective": "reg:absoluteerror"})");
  REQUIRE(p.ok());
  CHECK_FALSE(p->base_score_given);
  p->base_score = 17;  // the engine's estimate
  CHECK(ModelHyperparameters(*p).at("base_score") == "estimated");
  CHECK(Parse(R"({"objective": "reg:absoluteerror", "base_score": 17})")->base_score_given);
}

TEST_CASE("Hyperparameters: count:poisson bounds its steps unless max_delta_step is given", "[gbdt]") {
  CHECK(Parse(R"({"objective": "count:poisson"})")->max_delta_step == 0.7);
  CHECK(Parse(R"({"objective": "count:poisson", "max_delta_step": 0})")->max_delta_step == 0);
  CHECK(Parse("{}")->max_delta_step == 0);
}

TEST_CASE("Hyperparameters: constraints name features by name or by number", "[gbdt]") {
  const std::vector<std::string> features = {"age", "sex", "1"};
  const auto listed =
      Parse(R"=({"monotone_constraints": "(0,-1)", "interaction_constraints": [["age", 1], [2, 0]]})=");
  REQUIRE(listed.ok());
  CHECK(*MonotoneDirections(*listed, features) == std::vector<int>{0, -1, 0});
  // "1" is a feature's name before it is a number.
  CHECK(*InteractionGroups(*listed, features) == std::vector<std::vector<int>>{{0, 2}, {0, 2}});
  const auto named =
      Parse(R"({"monotone_constraints": {"sex": 1}, "interaction_constraints": [["wealth"]]})");
  REQUIRE(named.ok());
  CHECK(*MonotoneDirections(*named, features) == std::vector<int>{0, 1, 0});
  CHECK_THAT(MessageOf(InteractionGroups(*named, features).status()), Catch::Contains("wealth: expected"));
  CHECK_THAT(MessageOf(MonotoneDirections(*named, {"age"}).status()), Catch::Contains("sex: expected"));
  CHECK_THAT(MessageOf(MonotoneDirections(*listed, {"age"}).status()), Catch::Contains("expected at most 1"));
  CHECK(MonotoneDirections(*Parse(R"=({"monotone_constraints": "(0,0,0)"})="), features)->empty());
}

}  // namespace
}  // namespace winnow::gbdt
