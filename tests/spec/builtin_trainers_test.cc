#include "spec/builtin_trainers.h"

#include <re2/re2.h>

#include "spec/job_file.h"
#include "tests/catch.h"
#include "tests/spec/job_files.h"

namespace winnow {
namespace {

TEST_CASE("Built-in trainers: each portfolio has tunable hyperparameters with legal values", "[spec]") {
  for (const BuiltinTrainer& trainer : BuiltinTrainers()) {
    CHECK(trainer.portfolio.size() >= 4);
    for (const auto& configuration : trainer.portfolio) {
      for (const auto& [name, value] : configuration) {
        INFO(trainer.name << ": " << name << " = " << value);
        const auto known = trainer.Find(name);
        REQUIRE(known.has_value());
        CHECK(known->name == name);
        CHECK(known->tunable);
        CHECK(Read(*known, value).has_value());
      }
    }
  }
}

TEST_CASE("Built-in trainers: a trial trains for at least one round or epoch", "[spec]") {
  for (const BuiltinTrainer& trainer : BuiltinTrainers()) {
    const auto resource = trainer.Find(trainer.resource_parameter);
    REQUIRE(resource.has_value());
    CHECK_FALSE(Read(*resource, "0").has_value());
    CHECK(Read(*resource, "1").has_value());
  }
}

TEST_CASE("Built-in trainers: what a job fixes has one value, what it tunes is open", "[spec]") {
  const Given given = GivenIn(ParseJobFile(R"({"name": "g", "trainer": {"builtin": "mlp"},
      "static_hyperparameters": {"lr": "0.2", "momentum": "2", "batch-size": 7},
      "parameters": [{"name": "wd", "continuous": {"min": 0, "max": 1}}]})")
                                  .spec);
  CHECK(given.values.size() == 2);
  CHECK(given.values.at("learning_rate") == "0.2");
  CHECK(given.values.at("batch_size") == "7");
  CHECK(given.open.size() == 2);  // a momentum of 2 is not legal
  CHECK(given.Has("momentum"));
  CHECK(given.Has("weight_decay"));
}

TEST_CASE("Built-in trainers: a printed metric is found by its whole name", "[spec]") {
  std::string value;
  const std::string regex = PrintedMetricRegex("train", "error@0.7");
  REQUIRE(RE2::PartialMatch("[3]\ttrain-error@0.75:0.5\ttrain-error@0.7:0.25", regex, &value));
  CHECK(value == "0.25");
  CHECK_FALSE(RE2::PartialMatch("[3]\ttrain-error@0x7:0.25", regex, &value));
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
  CHECK(end("") == 20);
  CHECK(end(R"("epochs": 7)") == 7);
  CHECK(end(R"("num_epochs": 8)") == 8);
}

}  // namespace
}  // namespace winnow
