#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cctype>

#include "spec/builtin_trainers.h"
#include "spec/job_file.h"
#include "tests/catch.h"
#include "tests/spec/job_files.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow {
using namespace mlp;
namespace {

// What must stand beside a hyperparameter for it to make sense.
std::string Beside(const std::string& name, const std::string& value) {
  if (name == "nesterov") return R"(, "momentum": 0.9)";
  if (name == "scale_learning_rate") return R"(, "batch_scaling": "LINEAR")";
  if (name == "sift_delay" || name == "loss_history_length" || name == "sift_reuse_epochs")
    return R"(, "sift_beta": 0.5)";
  if (name == "virtual_shards" || name == "micro_batches") return R"(, "batch_size": 4096)";
  if (name == "eval_metric" && (value == "rmse" || value == "mae")) return R"(, "loss": "mse")";
  return "";
}

std::string Text(const BuiltinHyperparameter& known, double value) {
  return known.kind == HyperparameterKind::kInteger ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

bool MlpTakes(const std::string& name, const std::string& value) {
  std::vector<std::string> warnings;
  return ParseMlpHyperparameters(fmt::format(R"({{"{}": "{}"{}}})", name, value, Beside(name, value)),
                                 &warnings)
      .ok();
}

// The server refuses what the trainer would refuse, but knows no trainer's code: so each states its ranges.
TEST_CASE("Built-in trainers: winnow-mlp takes exactly the numbers that the server lets pass", "[spec]") {
  for (const BuiltinHyperparameter& known : FindBuiltinTrainer("mlp")->hyperparameters) {
    if (known.kind == HyperparameterKind::kText) continue;
    INFO(known.name);
    REQUIRE(known.min.has_value());
    REQUIRE(known.max.has_value());
    CHECK(MlpTakes(known.name, Text(known, *known.min)) == !known.above_min);
    CHECK(MlpTakes(known.name, Text(known, *known.max)) == !known.below_max);
    CHECK_FALSE(MlpTakes(known.name, Text(known, *known.min - 1)));
    if (known.name != "seed") CHECK_FALSE(MlpTakes(known.name, Text(known, *known.max + 1)));
    CHECK(MlpTakes(known.name, Text(known, 0.5 * (*known.min + *known.max))));
  }
}

TEST_CASE("Built-in trainers: winnow-mlp takes every word that the server lets pass, in any case", "[spec]") {
  for (const BuiltinHyperparameter& known : FindBuiltinTrainer("mlp")->hyperparameters) {
    std::vector<std::string> words = known.choices;
    for (const auto& [synonym, choice] : known.synonyms) words.push_back(synonym);
    for (std::string word : words) {
      INFO(known.name << " = " << word);
      CHECK(MlpTakes(known.name, word));
      for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      CHECK(MlpTakes(known.name, word));
      CHECK(ChoiceOf(known, word).has_value());
    }
    if (!words.empty()) CHECK_FALSE(MlpTakes(known.name, "something else"));
  }
}

std::vector<std::pair<std::string, std::string>> Model(const std::string& json) {
  std::vector<std::string> warnings;
  const auto parsed = ParseMlpHyperparameters(json, &warnings);
  INFO(json << ": " << parsed.status());
  REQUIRE(parsed.ok());
  auto model = ModelHyperparameters(*parsed);
  model.emplace_back("epochs", std::to_string(parsed->epochs));
  model.emplace_back("nthread", std::to_string(parsed->nthread));
  return model;
}

TEST_CASE("Built-in trainers: winnow-mlp means the same by second names and synonyms", "[spec]") {
  const BuiltinTrainer& mlp = *FindBuiltinTrainer("mlp");
  for (const auto& [alias, meant] : mlp.aliases) {
    INFO(alias);
    const BuiltinHyperparameter* known = mlp.Find(alias);
    REQUIRE(known != nullptr);
    std::string value = known->choices.empty() ? "7" : known->choices.back();
    if (known->kind == HyperparameterKind::kReal) value = "0.25";
    if (meant == "eval_metric") value = "error";
    const std::string beside = Beside(meant, value);
    CHECK(Model(fmt::format(R"({{"{}": "{}"{}}})", alias, value, beside)) ==
          Model(fmt::format(R"({{"{}": "{}"{}}})", meant, value, beside)));
  }
  for (const BuiltinHyperparameter& known : mlp.hyperparameters) {
    for (const auto& [synonym, choice] : known.synonyms) {
      const std::string beside = Beside(known.name, choice);
      CHECK(Model(fmt::format(R"({{"{}": "{}"{}}})", known.name, synonym, beside)) ==
            Model(fmt::format(R"({{"{}": "{}"{}}})", known.name, choice, beside)));
    }
  }
}

TEST_CASE("Built-in trainers: every metric of mlp that the server knows is one that it computes", "[spec]") {
  const BuiltinTrainer& mlp = *FindBuiltinTrainer("mlp");
  std::vector<std::string> metrics = mlp.metrics;
  metrics.insert(metrics.end(), {"top1", "top5", "top1000"});
  for (const std::string& metric : metrics) {
    INFO(metric);
    CHECK(IsMetric(mlp, metric));
    CHECK(MlpTakes("eval_metric", metric));
  }
  for (const char* metric : {"top", "top0", "top05", "top10000000", "topx", "ndcg"}) {
    INFO(metric);
    CHECK_FALSE(IsMetric(mlp, metric));
    CHECK_FALSE(MlpTakes("eval_metric", metric));
  }
}

TEST_CASE("Built-in trainers: mlp's portfolio is of its own hyperparameters, in their ranges", "[spec]") {
  const BuiltinTrainer& mlp = *FindBuiltinTrainer("mlp");
  CHECK(mlp.portfolio.size() >= 4);
  for (const auto& configuration : mlp.portfolio) {
    for (const auto& [name, value] : configuration) {
      INFO(name << " = " << value);
      REQUIRE(mlp.Find(name) != nullptr);
      CHECK(mlp.Find(name)->tunable);
      CHECK(MlpTakes(name, value));
    }
  }
}

std::string MlpJob(const std::string& hyperparameters, const std::string& more = "") {
  return R"({"name": "m", "trainer": {"builtin": "mlp"}, "static_hyperparameters": {)" + hyperparameters +
         R"(}, "channels": {"train": {"path": "t", "validation_fraction": 0.2}},
             "objective": {"metric": "validation:loss", "goal": "MINIMIZE"})" +
         more + "}";
}

TEST_CASE("Built-in trainers: what mlp prints follows loss, eval_metric and distribution", "[spec]") {
  using Names = std::vector<std::string>;
  const auto printed = [](const std::string& hyperparameters) {
    return PrintedMetrics(ParseJobFile(MlpJob(hyperparameters)).spec);
  };
  CHECK(printed("") == Names{"train:loss", "train:accuracy", "samples-per-second", "validation:loss",
                             "validation:accuracy"});
  CHECK(printed(R"("loss": "MSE", "eval_metric": "mae,rmse")") ==
        Names{"train:rmse", "samples-per-second", "validation:mae", "validation:rmse"});
  CHECK(printed(R"("loss": "squared")").back() == "validation:rmse");
  CHECK(printed(R"("loss": "huber")") ==
        Names{"train:loss", "samples-per-second", "validation:loss", "validation:rmse"});
  CHECK(printed(R"("distribution": "parameter_server", "eval-metric": "top5")") ==
        Names{"samples-per-second", "staleness-mean", "staleness-max", "validation:top5"});
}

TEST_CASE("Built-in trainers: mlp measures all on the training data where nothing is validated", "[spec]") {
  auto spec = ParseJobFile(MlpJob(R"("eval_metric": "loss,auc")")).spec;
  (*spec.mutable_channels())["train"].set_validation_fraction(0);
  CHECK(PrintedMetrics(spec) == std::vector<std::string>{"train:loss", "train:auc", "samples-per-second"});
}

TEST_CASE("Built-in trainers: what mlp prints is read from its lines", "[spec]") {
  const std::string line =
      "[4]\ttrain-loss:0.5\ttrain-accuracy:0.75\tvalidation-loss:0.25\tsamples-per-second:1234.5\t"
      "staleness-mean:2.5";
  const auto read = [&line](const char* printed) {
    std::string value;
    CHECK(RE2::PartialMatch(line, PrintedMetricRegex(printed), &value));
    return value;
  };
  CHECK(read("train:loss") == "0.5");
  CHECK(read("validation:loss") == "0.25");
  CHECK(read("samples-per-second") == "1234.5");
  CHECK(read("staleness-mean") == "2.5");
}

TEST_CASE("Built-in trainers: mlp ends after its epochs, by whichever name", "[spec]") {
  const auto end = [](const std::string& hyperparameters) {
    return FixedEndOf(ParseJobFile(MlpJob(hyperparameters)).spec);
  };
  CHECK(end("") == MlpParameters().epochs);
  CHECK(end(R"("epochs": 7)") == 7);
  CHECK(end(R"("num_epochs": 8)") == 8);
}

}  // namespace
}  // namespace winnow
