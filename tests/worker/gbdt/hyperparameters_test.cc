#include "worker/gbdt/hyperparameters.h"

#include "tests/catch.h"
#include "worker/gbdt/status_text.h"

namespace winnow {
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
  CHECK(p->metrics == std::vector{MetricKind::kRmse});
  CHECK(p->eta == 0.3);
  CHECK(p->max_depth == 6);
  CHECK(p->min_child_weight == 1);
  CHECK(p->lambda == 1);
  CHECK(Parse(R"({"objective": "binary:logistic"})")->metrics == std::vector{MetricKind::kLogLoss});
  CHECK(Parse(R"({"objective": "binary:logitraw"})")->metrics == std::vector{MetricKind::kLogLoss});
  CHECK(Parse(R"({"objective": "multi:softprob", "num_class": 3})")->metrics ==
        std::vector{MetricKind::kMultiLogLoss});
}

TEST_CASE("Hyperparameters: eval_metric is a name, a list with commas or a JSON list", "[gbdt]") {
  const std::vector expected{MetricKind::kAuc, MetricKind::kError};
  for (const char* value :
       {R"("auc,error")", R"("auc, error")", R"(["auc", "error"])", R"("[\"auc\", \"error\"]")"}) {
    const auto p = Parse(std::string(R"({"objective": "binary:logistic", "eval_metric": )") + value + "}");
    REQUIRE(p.ok());
    CHECK(p->metrics == expected);
  }
}

TEST_CASE("Hyperparameters: XGBoost's second names mean the same", "[gbdt]") {
  const auto p = Parse(R"({"learning_rate": 0.1, "reg_alpha": 2, "min_split_loss": 3, "n_jobs": 2})");
  REQUIRE(p.ok());
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
  CHECK_THAT(warnings[0], Catch::Contains("rate_drop = 0.3 has no effect"));
  CHECK(warnings[1] == "tree_method exact runs as hist");
}

TEST_CASE("Hyperparameters: bad ones are refused by name, value and expectation", "[gbdt]") {
  const struct {
    const char* json;
    const char* expected;
  } kCases[] = {
      {R"({"etta": 0.1})", "unknown hyperparameter etta; did you mean eta?"},
      {R"({"max_dept": 3})", "unknown hyperparameter max_dept; did you mean max_depth?"},
      {R"({"colsample_by_tree": 1})", "did you mean colsample_bytree?"},
      {R"({"monotone_constraints": "1,0"})", "unknown hyperparameter monotone_constraints"},
      {R"({"eta": 1.5})", "hyperparameter eta = 1.5: expected a number in [0, 1]"},
      {R"({"eta": -0.1})", "hyperparameter eta = -0.1: expected a number in [0, 1]"},
      {R"({"eta": "fast"})", "hyperparameter eta = fast: expected a number in [0, 1]"},
      {R"({"eta": "0.3x"})", "hyperparameter eta = 0.3x: expected a number"},
      {R"({"eta": ""})", "hyperparameter eta = : expected a number"},
      {R"({"eta": "nan"})", "hyperparameter eta = nan: expected a number"},
      {R"({"eta": true})", "hyperparameter eta = true: expected a number"},
      {R"({"eta": null})", "hyperparameter eta = null: expected a number"},
      {R"({"eta": [0.1]})", "hyperparameter eta = [0.1]: expected a number"},
      {R"({"subsample": 0})", "hyperparameter subsample = 0: expected a number in (0, 1]"},
      {R"({"lambda": -1})", "hyperparameter lambda = -1: expected a number of at least 0"},
      {R"({"lambda": "inf"})", "hyperparameter lambda = inf: expected a number of at least 0"},
      {R"({"max_depth": 2.5})", "hyperparameter max_depth = 2.5: expected a whole number in [0, 1000000]"},
      {R"({"max_depth": -1})", "hyperparameter max_depth = -1: expected a whole number"},
      {R"({"num_round": "many"})", "hyperparameter num_round = many: expected a whole number"},
      {R"({"num_round": 1e300})", "hyperparameter num_round = 1e+300: expected a whole number"},
      {R"({"seed": 9223372036854775808})",
       "hyperparameter seed = 9223372036854775808: expected a whole number"},
      {R"({"max_bin": 1})", "hyperparameter max_bin = 1: expected a whole number in [2, 65535]"},
      {R"({"objective": "binary:hinge"})",
       "hyperparameter objective = binary:hinge: expected one of binary:logistic"},
      {R"({"objective": 3})", "hyperparameter objective = 3: expected one of"},
      {R"({"eval_metric": "acc"})", "hyperparameter eval_metric = acc: expected one of auc"},
      {R"({"eval_metric": "rmse,"})", "hyperparameter eval_metric = : expected one of"},
      {R"({"eval_metric": []})", "hyperparameter eval_metric = []: expected a name"},
      {R"({"eval_metric": [1]})", "hyperparameter eval_metric = [1]: expected a list of names"},
      {R"({"eval_metric": "mlogloss"})", "eval_metric = mlogloss: expected a metric of one prediction a row"},
      {R"({"objective": "multi:softprob", "num_class": 3, "eval_metric": "auc"})",
       "expected mlogloss or merror"},
      {R"({"objective": "multi:softprob"})",
       "hyperparameter num_class = 0: expected a whole number of at least 2"},
      {R"({"num_class": 3})", "hyperparameter num_class = 3: expected none"},
      {R"({"objective": "binary:logistic", "base_score": 1})",
       "hyperparameter base_score = 1.0: expected a number in (0, 1)"},
      {R"({"tree_method": "gpu_hist"})",
       "hyperparameter tree_method = gpu_hist: expected one of hist, exact"},
      {R"({"booster": "dart"})", "hyperparameter booster = dart: expected gbtree"},
      {R"({"grow_policy": "lossguide"})", "hyperparameter grow_policy = lossguide: expected depthwise"},
      {R"({"eta": 0.1, "learning_rate": 0.2})", "hyperparameter eta is given twice"},
      {R"([1, 2])", "expected a JSON object"},
      {R"({"eta": )", "not valid JSON"},
      {"", "not valid JSON"},
  };
  for (const auto& c : kCases) {
    const auto parsed = Parse(c.json);
    INFO(c.json);
    REQUIRE_FALSE(parsed.ok());
    CHECK_THAT(MessageOf(parsed.status()), Catch::Contains(c.expected));
  }
}

TEST_CASE("Hyperparameters: what the model records reads back as the same", "[gbdt]") {
  const auto p =
      Parse(R"({"objective": "multi:softprob", "num_class": 4, "eta": 0.1, "eval_metric": "merror,mlogloss",
                           "seed": 77, "colsample_bynode": 0.3333333333333333})");
  REQUIRE(p.ok());
  std::string json = "{";
  for (const auto& [name, value] : ModelHyperparameters(*p))
    json += (json.size() > 1 ? ",\"" : "\"") + name + "\":\"" + value + "\"";
  const auto again = Parse(json + "}");
  REQUIRE(again.ok());
  CHECK(ModelHyperparameters(*again) == ModelHyperparameters(*p));
}

}  // namespace
}  // namespace winnow
