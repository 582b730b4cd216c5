#include "spec/launch.h"

#include <re2/re2.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "spec/job_file.h"
#include "spec/warnings.h"
#include "tests/catch.h"
#include "tests/spec/job_files.h"

namespace winnow {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

v1::TuningJobSpec In(const std::string& folder, const std::string& job_file) {
  v1::TuningJobSpec spec = ParseJobFile(job_file).spec;
  spec.set_working_directory(folder);
  return spec;
}

TEST_CASE("Launch: a command without placeholders gets every hyperparameter as arguments", "[spec]") {
  const Launch launch = MakeLaunch(In("/job", CommandJob()), {0.25}, 42);
  CHECK(launch.command == Words{"python3", "train.py", "--batch", "32", "--rate", "0.25"});
  CHECK(launch.environment.at("SM_HPS") == R"({"batch": 32, "rate": 0.25})");
  CHECK(launch.environment.at("SM_HP_RATE") == "0.25");
  CHECK(launch.environment.at("WINNOW_SEED") == "42");
  CHECK(launch.environment.at("OMP_NUM_THREADS") == "1");
  CHECK(launch.environment.at("SM_INPUT_DATA_CONFIG") == "{}");
  CHECK(launch.metrics.size() == 1);
  CHECK(launch.resource_regex == "epoch ([0-9]+)");
  CHECK(launch.resumes);
  CHECK(launch.grace_period_ms == 5000);
  CHECK(launch.working_directory == "/job");
}

TEST_CASE("Launch: hyperparameters that share a variable are warned of", "[spec]") {
  v1::TuningJobSpec spec = In("/job", CommandJob());
  CHECK(SpecWarnings(spec).empty());
  (*spec.mutable_static_hyperparameters())["Rate"] = "1";
  CHECK(MakeLaunch(spec, {0.25}, 42).environment.at("SM_HP_RATE") == "0.25");
  const std::vector<std::string> warnings = SpecWarnings(spec);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::StartsWith("the hyperparameters Rate, rate share the environment variable "
                                            "SM_HP_RATE, which has the value of the last one"));
}

TEST_CASE("Launch: a negative number has no exponent as an argument, and is the same number", "[spec]") {
  for (const double value : {-6.5e-6, -1e300, -5e-324, -1.2345678901234567e-7}) {
    const Launch launch = MakeLaunch(In("/job", CommandJob()), {value}, 42);
    CHECK(launch.command.back().find('e') == std::string::npos);
    CHECK(std::strtod(launch.command.back().c_str(), nullptr) == value);
  }
  CHECK(MakeLaunch(In("/job", CommandJob()), {-6.5e-6}, 42).command.back() == "-0.0000065");
  CHECK(MakeLaunch(In("/job", CommandJob()), {6.5e-6}, 42).command.back() == "6.5e-06");
}

TEST_CASE("Launch: a repeat has its number, and begins from scratch", "[spec]") {
  auto spec = In("/job", CommandJob());
  CHECK(MakeLaunch(spec, {0.25}, 42).environment.count("WINNOW_REPEAT") == 0);
  spec.mutable_repeats()->set_seeds(5);
  const Launch launch = MakeLaunch(spec, {0.25}, 42, 3);
  CHECK(launch.environment.at("WINNOW_REPEAT") == "3");
  CHECK(launch.environment.at("WINNOW_REPEATS") == "5");
  CHECK_FALSE(launch.resumes);
  spec.mutable_repeats()->clear_seeds();
  spec.mutable_repeats()->set_folds(10);
  const Launch fold = MakeLaunch(spec, {0.25}, 42, 10);
  CHECK(fold.environment.at("WINNOW_FOLD") == "10");
  CHECK(fold.environment.at("WINNOW_FOLDS") == "10");
  CHECK(fold.environment.count("WINNOW_REPEAT") == 0);
}

TEST_CASE("Launch: channels that are more than a path are the worker's to prepare", "[spec]") {
  auto spec = In("/jobs/bank", CommandJob());
  auto& channels = *spec.mutable_channels();
  channels["lines"].set_path("x.jsonl");
  channels["lines"].set_distribution("sharded");
  channels["plain"].set_path("y");
  channels["web"].set_path("https://host/x.csv");
  CHECK(MakeLaunch(spec, {0.25}, 1).channels.size() == 1);  // one rank divides nothing
  spec.mutable_cluster()->set_nodes(3);
  const Launch launch = MakeLaunch(spec, {0.25}, 1);
  REQUIRE(launch.channels.size() == 2);
  CHECK(launch.channels[0].name() == "lines");
  CHECK(launch.channels[0].channel().path() == "/jobs/bank/x.jsonl");
  CHECK(launch.channels[1].channel().path() == "https://host/x.csv");
  CHECK(launch.environment.at("SM_CHANNEL_PLAIN") == "/jobs/bank/y");
  CHECK(launch.environment.count("SM_CHANNEL_WEB") == 0);
}

TEST_CASE("Launch: a command with placeholders gets only those", "[spec]") {
  const auto spec = In("/job", CommandJob("\"train.py\"", "\"train.py\", \"-r{{rate}}\""));
  CHECK(MakeLaunch(spec, {1e-5}, 1).command == Words{"python3", "train.py", "-r1e-05"});
}

TEST_CASE("Launch: a hyperparameter that does not exist is in no variable and no argument", "[spec]") {
  const std::string optional =
      R"([{"name": "a", "integer": {"min": 0, "max": 1}},
          {"name": "b", "integer": {"min": 0, "max": 9}, "condition": {"parameter": "a", "values": [1]}}, {"name": "rate")";
  auto spec = In("/job", CommandJob("[{\"name\": \"rate\"", optional));
  const Configuration without = {int64_t{0}, Inactive{}, 0.5}, with = {int64_t{1}, int64_t{7}, 0.5};
  const Launch plain = MakeLaunch(spec, without, 1);
  CHECK(plain.command == Words{"python3", "train.py", "--batch", "32", "--a", "0", "--rate", "0.5"});
  CHECK(plain.environment.at("SM_HPS") == R"({"batch": 32, "a": 0, "rate": 0.5})");
  CHECK(plain.environment.count("SM_HP_B") == 0);
  for (const char* argument : {"--fast", "{{rate}}", "--deep", "{{b}}", "--b={{b}}", "end"}) {
    spec.mutable_trainer()->add_command(argument);
  }
  CHECK(MakeLaunch(spec, with, 1).command ==
        Words{"python3", "train.py", "--fast", "0.5", "--deep", "7", "--b=7", "end"});
  CHECK(MakeLaunch(spec, without, 1).command == Words{"python3", "train.py", "--fast", "0.5", "end"});
}

TEST_CASE("Launch: texts are strings in SM_HPS, also those that hold quotes", "[spec]") {
  auto spec = In(
      "/job", CommandJob("{\"batch\": 32}", R"({"a": "say \"hi\"", "b": "1 2", "c": "-1.50", "d": true})"));
  spec.mutable_parameters(0)->mutable_categorical()->add_values("7");
  const Json hps = Json::parse(MakeLaunch(spec, {std::string("7")}, 1).environment.at("SM_HPS"));
  CHECK(hps == Json({{"a", "say \"hi\""}, {"b", "1 2"}, {"c", -1.5}, {"d", "true"}, {"rate", "7"}}));
}

TEST_CASE("Launch: a built-in gets no arguments, and its channels are absolute and declared whole",
          "[spec]") {
  const auto spec =
      In("/jobs/bank", BuiltinJob("\"path\": \"train.csv\"",
                                  "\"path\": \"../data/train.csv\", \"drop\": [\"id\"], \"max_levels\": 9"));
  const Launch launch = MakeLaunch(spec, {int64_t{150}, 0.5, std::string("hist")}, 7);
  CHECK(launch.command == Words{"winnow-gbdt"});
  CHECK(launch.environment.at("SM_CHANNEL_TRAIN") == "/jobs/data/train.csv");
  CHECK(launch.environment.at("SM_CHANNEL_VALIDATION") == "/jobs/bank/validation.csv");
  CHECK(Json::parse(launch.environment.at("SM_INPUT_DATA_CONFIG")) ==
        Json::parse(
            R"({"train": {"path": "/jobs/data/train.csv", "label": "y", "drop": ["id"], "max_levels": 9},
                        "validation": {"path": "/jobs/bank/validation.csv", "label": "y"}})"));
  CHECK(Json::parse(launch.environment.at("SM_HPS")) ==
        Json::parse(R"({"objective": "binary:logistic", "eval_metric": "auc", "num_round": 150, "eta": 0.5,
                        "tree_method": "hist"})"));
  CHECK(launch.grace_period_ms == 10'000);
}

TEST_CASE("Launch: a channel's queries, categories and distribution reach the trainer", "[spec]") {
  const auto spec = In("/", BuiltinJob("\"path\": \"train.csv\"",
                                       "\"path\": \"train\", \"group\": \"query\", \"categorical\": true, "
                                       "\"distribution\": \"sharded\""));
  const Launch launch = MakeLaunch(spec, {int64_t{150}, 0.5, std::string("hist")}, 7);
  CHECK(Json::parse(launch.environment.at("SM_INPUT_DATA_CONFIG"))["train"] ==
        Json::parse(R"({"path": "/train", "label": "y", "group": "query", "categorical": true,
                        "distribution": "sharded"})"));
}

TEST_CASE("Launch: a built-in's lines are read by its own expressions", "[spec]") {
  const auto spec = In("/", BuiltinJob("\"auc\"", "\"auc,logloss\""));
  const Launch launch = MakeLaunch(spec, {int64_t{150}, 0.5, std::string("hist")}, 7);
  const std::string line =
      "[12]\ttrain-auc:0.81\ttrain-logloss:0.3\tvalidation-auc:0.78\tvalidation-logloss:nan";
  std::string seen;
  for (const v1::MetricDefinition& metric : launch.metrics) {
    std::string value;
    REQUIRE(RE2::PartialMatch(line, RE2(metric.regex()), &value));
    seen += metric.name() + "=" + value + " ";
  }
  CHECK(seen == "train:auc=0.81 validation:auc=0.78 train:logloss=0.3 validation:logloss=nan ");
  int64_t level = 0;
  REQUIRE(RE2::PartialMatch(line, RE2(launch.resource_regex), &level));
  CHECK(level + launch.resource_offset == 13);
}

}  // namespace
}  // namespace winnow
