#include "trainers/mlp/hyperparameters/hyperparameters.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/catch.h"

namespace winnow::mlp {
namespace {

MlpParameters Parsed(const std::string& json) {
  std::vector<std::string> warnings;
  const auto parameters = ParseMlpHyperparameters(json, &warnings);
  INFO(json << ": " << parameters.status());
  REQUIRE(parameters.ok());
  return *parameters;
}

std::string ErrorOf(const std::string& json) {
  std::vector<std::string> warnings;
  return std::string(ParseMlpHyperparameters(json, &warnings).status().message());
}

std::vector<std::string> WarningsOf(const std::string& json) {
  std::vector<std::string> warnings;
  CHECK(ParseMlpHyperparameters(json, &warnings).ok());
  return warnings;
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("MlpHyperparameters: nothing given is all defaults", "[mlp]") {
  const MlpParameters p = Parsed("{}");
  CHECK(p.hidden_layers == std::vector<int>{256, 128});
  CHECK(p.learning_rate == 0.1);
  CHECK_FALSE(p.seed_given);
  CHECK(WarningsOf("{}").empty());
}

TEST_CASE("MlpHyperparameters: numbers, texts that hold them, and words in any case", "[mlp]") {
  const MlpParameters p = Parsed(R"({"learning_rate": "0.02", "batch_size": 64, "momentum": 0.9,
      "nesterov": "True", "activation": "GELU", "distribution": "parameter_server", "staleness_bound": -1,
      "optimizer": "SGD", "seed": "18", "eval_metric": "accuracy, top5"})");
  CHECK(p.learning_rate == 0.02);
  CHECK(p.batch_size == 64);
  CHECK(p.nesterov);
  CHECK(p.activation == Activation::kGelu);
  CHECK(p.distribution == Distribution::kParameterServer);
  CHECK(p.seed == 18);
  CHECK(p.seed_given);
  CHECK(p.metrics == std::vector<std::string>{"accuracy", "top5"});
}

TEST_CASE("MlpHyperparameters: the learning rate by default goes with the optimizer", "[mlp]") {
  CHECK(Parsed("{}").learning_rate == 0.1);
  for (const char* optimizer : {"adam", "adamw", "lamb"}) {
    CHECK(Parsed(nlohmann::json{{"optimizer", optimizer}}.dump()).learning_rate == 0.001);
    CHECK(Parsed(nlohmann::json{{"optimizer", optimizer}, {"lr", 0.1}}.dump()).learning_rate == 0.1);
  }
}

TEST_CASE("MlpHyperparameters: standardise_label belongs to regression", "[mlp]") {
  const auto has = [](const char* json) {
    const auto values = ModelHyperparameters(Parsed(json));
    return std::any_of(values.begin(), values.end(),
                       [](const auto& v) { return v.first == "standardise_label"; });
  };
  CHECK(has(R"({"loss": "mse"})"));
  CHECK(has(R"({"loss": "huber"})"));
  CHECK_FALSE(has("{}"));  // as before there was such a hyperparameter
  CHECK(WarningsOf(R"({"standardise_label": false})").size() == 1);
}

TEST_CASE("MlpHyperparameters: names of scikit-learn, Keras and XGBoost's wrappers mean the same", "[mlp]") {
  const MlpParameters sklearn = Parsed(R"({"hidden_layer_sizes": "64,32", "solver": "adam",
      "learning_rate_init": 0.01, "max_iter": 9, "beta_1": 0.8, "n_iter_no_change": 4, "random_state": 3})");
  CHECK(sklearn.hidden_layers == std::vector<int>{64, 32});
  CHECK(sklearn.optimizer == OptimizerKind::kAdam);
  CHECK(sklearn.learning_rate == 0.01);
  CHECK(sklearn.epochs == 9);
  CHECK(sklearn.beta1 == 0.8);
  CHECK(sklearn.early_stopping_epochs == 4);
  const MlpParameters keras = Parsed(
      R"({"units": 48, "kernel_initializer": "glorot_uniform", "patience": 2, "global_clipnorm": 1.5})");
  CHECK(keras.hidden_layers == std::vector<int>{48, 48});
  CHECK(keras.weight_init == WeightInit::kGlorot);
  CHECK(keras.early_stopping_epochs == 2);
  CHECK(keras.clip_norm == 1.5);
  const MlpParameters xgboost =
      Parsed(R"({"n_estimators": 12, "n_jobs": 2, "early_stopping_rounds": 5, "learning_rate": 0.2})");
  CHECK(xgboost.epochs == 12);
  CHECK(xgboost.nthread == 2);
  CHECK(xgboost.early_stopping_epochs == 5);
}

TEST_CASE("MlpHyperparameters: other trainers' names mean the same", "[mlp]") {
  const MlpParameters p = Parsed(R"({"lr": 0.3, "batch-size": 32, "num_epochs": 7, "wd": 0.01,
      "weight_init": "xavier", "loss": "softmax", "num-classes": 4})");
  CHECK(p.learning_rate == 0.3);
  CHECK(p.batch_size == 32);
  CHECK(p.epochs == 7);
  CHECK(p.weight_decay == 0.01);
  CHECK(p.weight_init == WeightInit::kGlorot);
  CHECK(p.num_class == 4);
  CHECK(ErrorOf(R"({"lr": 0.3, "learning_rate": 0.3})") ==
        "hyperparameter learning_rate is given twice, as learning_rate and as lr");
}

TEST_CASE("MlpHyperparameters: layers as a list, a text, or a number of equal ones", "[mlp]") {
  const std::vector<int> expected = {300, 100};
  CHECK(Parsed(R"({"hidden_layers": [300, 100]})").hidden_layers == expected);
  CHECK(Parsed(R"({"hidden_layers": "300, 100"})").hidden_layers == expected);
  CHECK(Parsed(R"({"hidden_layers": "[300,100]"})").hidden_layers == expected);
  CHECK(Parsed(R"({"hidden_layers": 64})").hidden_layers == std::vector<int>{64});
  CHECK(Parsed(R"({"num_layers": 3, "layer_width": "50"})").hidden_layers == std::vector<int>{50, 50, 50});
  CHECK(Parsed(R"({"layer_width": 50})").hidden_layers == std::vector<int>{50, 50});
  CHECK(Contains(ErrorOf(R"({"hidden_layers": "9", "num_layers": 1})"),
                 "expected either hidden_layers, or num_layers"));
}

TEST_CASE("MlpHyperparameters: what is out of range is refused with its name, value and range", "[mlp]") {
  CHECK(ErrorOf(R"({"learning_rate": -1})") ==
        "hyperparameter learning_rate = -1: expected a number of more than 0 and at most 1000");
  CHECK(ErrorOf(R"({"n_jobs": -1})") ==
        "hyperparameter n_jobs = -1: expected a whole number of at least 1 and at most 1024");
  CHECK(ErrorOf(R"({"mini_batch_size": 8, "virtual_shards": 9})") ==
        "hyperparameter virtual_shards = 9: expected at most batch_size = 8");
  CHECK(Contains(ErrorOf(R"({"mini_batch_size": 1, "batch_norm": "synchronised"})"),
                 "hyperparameter mini_batch_size = 1: expected at least 2"));
  CHECK(ErrorOf(R"({"eps": 1e-300, "optimizer": "adam"})") ==
        "hyperparameter eps = 1e-300: expected a number of more than 0 and at most 1, also when rounded to a "
        "32-bit float");
  CHECK(Contains(ErrorOf(R"({"dropout": 0.99999999999})"), "less than 1, also when rounded"));
  CHECK(ErrorOf(R"({"dropout": 1})") ==
        "hyperparameter dropout = 1: expected a number of at least 0 and less than 1");
  CHECK(ErrorOf(R"({"epochs": 2.5})") ==
        "hyperparameter epochs = 2.5: expected a whole number of at least 1 and at most 1000000");
  CHECK(ErrorOf(R"({"layer_width": 0})") ==
        "hyperparameter layer_width = 0: expected a whole number of at least 1 and at most 65536");
  CHECK(Contains(ErrorOf(R"({"hidden_layers": "256,0"})"),
                 "hyperparameter hidden_layers = 256,0: expected 1 to 64 widths"));
  for (const char* none : {"", "[]", "256,,1", "x", "256;128", "{}"})
    CHECK(Contains(ErrorOf(nlohmann::json{{"hidden_layers", none}}.dump()), "hidden_layers"));
  CHECK(ErrorOf(R"({"activation": "swish"})") ==
        "hyperparameter activation = swish: expected one of relu, leaky_relu, gelu, tanh");
  CHECK(Contains(ErrorOf(R"({"teacher_weight": 1.1})"), "expected a number of at least 0 and at most 1"));
  CHECK(Contains(ErrorOf(R"({"learning_rate": "nan"})"), "learning_rate = nan"));
  CHECK(Contains(ErrorOf(R"({"nesterov": 2})"), "expected one of false, true"));
  CHECK(ErrorOf(R"({"lerning_rate": 1})") ==
        "unknown hyperparameter lerning_rate; did you mean learning_rate?");
  CHECK(Contains(ErrorOf("[1]"), "expected a JSON object"));
  CHECK(Contains(ErrorOf("{"), "not valid JSON"));
}

TEST_CASE("MlpHyperparameters: what contradicts something else is refused", "[mlp]") {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"nesterov": true})", "expected momentum above 0"},
      {R"({"scale_learning_rate": 1})", "expected batch_scaling LINEAR"},
      {R"({"compression": "int8", "distribution": "ZERO"})", "compression = int8: expected none with"},
      {R"({"batch_norm": "synchronised", "distribution": "PIPELINE"})", "batch_norm = synchronised"},
      {R"({"batch_norm": "per_rank", "distribution": "PIPELINE"})",
       "batch_norm = per_rank: expected none with"},
      {R"({"optimizer": "lamb", "distribution": "PARAMETER_SERVER"})", "optimizer = lamb"},
      {R"({"sift_beta": 0.5, "distribution": "LOCAL_SGD"})",
       "distribution = LOCAL_SGD: expected ALL_REDUCE, ZERO or PIPELINE with sift_beta"},
      {R"({"sift_delay": 2})", "sift_delay = 2: expected sift_beta to be given too"},
      {R"({"batch_size": 1, "batch_norm": "per_rank"})", "batch_size = 1: expected at least 2"},
      {R"({"batch_size": 8, "virtual_shards": 9})", "virtual_shards = 9: expected at most batch_size = 8"},
      {R"({"schedule": "cosine", "min_learning_rate": 1})", "at most learning_rate = 0.1"},
      {R"({"loss": "mse", "num_class": 3})", "num_class = 3: expected none with loss mse"},
      {R"({"num_class": 1})", "num_class = 1: expected 0 or at least 2"},
      {R"({"loss": "mse", "eval_metric": "accuracy"})",
       "hyperparameter eval_metric = accuracy: expected loss, rmse or mae with loss mse"},
      {R"({"loss": "logistic", "eval_metric": "top5"})",
       "eval_metric = top5: expected loss, logloss, accuracy, error or auc with loss logistic"},
      {R"({"eval_metric": "top0"})", "eval_metric = top0: expected loss, logloss"},
      {R"({"eval_metric": "top05"})", "eval_metric = top05: expected it written as top5"},
  };
  for (const auto& [json, error] : cases) {
    INFO(json << ": " << ErrorOf(json));
    CHECK(Contains(ErrorOf(json), error));
  }
}

TEST_CASE("MlpHyperparameters: what cannot be repeated, or does nothing, is said", "[mlp]") {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"distribution": "PARAMETER_SERVER"})", "cannot be repeated"},
      {R"({"distribution": "LOCAL_SGD"})", "another number of ranks"},
      {R"({"compression": "bf16"})", "compression bf16 changes results"},
      {R"({"batch_norm": "per_rank"})", "another number of ranks"},
      {R"({"batch_scaling": "LINEAR"})", "another number of ranks"},
      {R"({"staleness_bound": 3})", "no effect but with distribution PARAMETER_SERVER"},
      {R"({"optimizer": "adam", "momentum": 0.9})", "no effect but with optimizer sgd"},
      {R"({"warmup_epochs": 30})", "never reaches"},
  };
  for (const auto& [json, warning] : cases) {
    INFO(json);
    const std::vector<std::string> warnings = WarningsOf(json);
    REQUIRE(warnings.size() == 1);
    CHECK(Contains(warnings[0], warning));
  }
}

std::string AsJson(const std::vector<std::pair<std::string, std::string>>& values) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, value] : values) json[name] = value;
  return json.dump();
}

TEST_CASE("MlpHyperparameters: what decides the model reads back as it was", "[mlp]") {
  for (const char* json :
       {"{}",
        R"({"hidden_layers": "9,8", "optimizer": "lamb", "schedule": "cosine", "epochs": 3, "seed": 5,
            "dropout": 0.1, "batch_norm": "synchronised", "loss": "huber", "huber_delta": 0.3,
            "eval_metric": "mae,loss", "sift_beta": 0.5, "sift_delay": 2.5, "standardise": false})",
        R"({"distribution": "PARAMETER_SERVER", "momentum": 0.123456789012345678, "nesterov": 1,
            "staleness_bound": 4, "implicit_momentum_correction": 0.5, "precision": "bf16"})"}) {
    const auto values = ModelHyperparameters(Parsed(json));
    CHECK(ModelHyperparameters(Parsed(AsJson(values))) == values);
    CHECK(values.size() > 40);
  }
}

TEST_CASE("MlpHyperparameters: threads and profile are not the model's, epochs only where the rate ends",
          "[mlp]") {
  const auto of = [](const char* json) { return ModelHyperparameters(Parsed(json)); };
  CHECK(of(R"({"nthread": 2, "profile": true, "epochs": 50})") == of("{}"));
  CHECK(of(R"({"schedule": "cosine", "epochs": 50})") != of(R"({"schedule": "cosine"})"));
  CHECK(of(R"({"learning_rate": 0.2})") != of("{}"));
}

}  // namespace
}  // namespace winnow::mlp
