#include "spec/job_file.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "checkout.h"
#include "spec/checks/check_spec.h"
#include "tests/catch.h"
#include "tests/spec/job_files.h"

namespace winnow {
namespace {

v1::TuningJobSpec Parsed(const std::string& text) {
  ParsedJobFile parsed = ParseJobFile(text);
  CAPTURE(Listed(parsed.violations));
  REQUIRE(parsed.violations.empty());
  return parsed.spec;
}

TEST_CASE("Job file: a valid job has no violations", "[spec]") {
  CHECK(Listed(Violations(BuiltinJob())) == "");
  CHECK(Listed(Violations(CommandJob())) == "");
  CHECK(Listed(Violations(ExternalJob())) == "");
}

TEST_CASE("Job file: every field is read", "[spec]") {
  const v1::TuningJobSpec spec = Parsed(CommandJob());
  CHECK(spec.name() == "script");
  CHECK(spec.trainer().command(1) == "train.py");
  CHECK(spec.trainer().metrics(0).regex() == "loss=([0-9.e+-]+)");
  CHECK(spec.trainer().environment().at("OMP_NUM_THREADS") == "1");
  CHECK(spec.trainer().grace_period().seconds() == 5);
  CHECK_FALSE(spec.trainer().has_resumes());
  CHECK(spec.static_hyperparameters().at("batch") == "32");
  CHECK(spec.parameters(0).continuous().min() == 0.001);
  CHECK(spec.parameters(0).continuous().scaling() == v1::LOG);
  CHECK(spec.objective().goal() == v1::MINIMIZE);
  CHECK(spec.strategy() == v1::RANDOM);
}

TEST_CASE("Job file: what protobuf writes is read back as the same spec", "[spec]") {
  for (const bool snake_case : {true, false}) {
    for (const std::string& text : {BuiltinJob(), CommandJob()}) {
      const v1::TuningJobSpec spec = Parsed(text);
      google::protobuf::util::JsonPrintOptions options;
      options.preserve_proto_field_names = snake_case;
      std::string json;
      REQUIRE(google::protobuf::util::MessageToJsonString(spec, &json, options).ok());
      CHECK(google::protobuf::util::MessageDifferencer::Equals(Parsed(json), spec));
    }
  }
}

TEST_CASE("Job file: numbers may be text, whole reals and numbers of enums, and null leaves out", "[spec]") {
  const v1::TuningJobSpec spec = Parsed(R"({"seed": "18446744073709551615", "strategy": 2, "cluster": null,
    "limits": {"max_trials": 1e3, "maxTotalResource": "-9223372036854775808", "max_wall_time": "1.5s"},
    "parameters": [{"name": "x", "continuous": {"min": "-Infinity", "max": "2.5"}}]})");
  CHECK(spec.seed() == 18446744073709551615U);
  CHECK(spec.strategy() == v1::HYPERBAND);
  CHECK_FALSE(spec.has_cluster());
  CHECK(spec.limits().max_trials() == 1000);
  CHECK(spec.limits().max_total_resource() == std::numeric_limits<int64_t>::min());
  CHECK(spec.limits().max_wall_time().seconds() == 1);
  CHECK(spec.limits().max_wall_time().nanos() == 500'000'000);
  CHECK(spec.parameters(0).continuous().min() == -std::numeric_limits<double>::infinity());
  CHECK(spec.parameters(0).continuous().max() == 2.5);
}

TEST_CASE("Job file: words of enums may be in lower case", "[spec]") {
  const v1::TuningJobSpec spec =
      Parsed(R"({"strategy": "hyperband", "objective": {"goal": "maximize", "value": "Mean"},
    "parameters": [{"name": "a", "continuous": {"min": 1, "max": 2, "scaling": "reverse_log"}}]})");
  CHECK(spec.strategy() == v1::HYPERBAND);
  CHECK(spec.objective().goal() == v1::MAXIMIZE);
  CHECK(spec.objective().value() == v1::ObjectiveSpec::MEAN);
  CHECK(spec.parameters(0).continuous().scaling() == v1::REVERSE_LOG);
}

TEST_CASE("Job file: comments are white space, and errors behind them name their line", "[spec]") {
  const v1::TuningJobSpec spec = Parsed(R"(// A study of
{
  "name": "http://a/*b*/", /* two
  lines */ "seed": 7  // the last
})");
  CHECK(spec.name() == "http://a/*b*/");
  CHECK(spec.seed() == 7);
  for (const char* wrong : {"{ /* no end", "{} / a", "# no comment\n{}"}) {
    INFO(wrong);
    CHECK(ParseJobFile(wrong).violations.size() == 1);
  }
  CHECK(ParseJobFile("// one\n{\n  /* two */ x\n}")
            .violations.at(0)
            .description.rfind("line 3, column 13", 0) == 0);
}

TEST_CASE("Job file: static hyperparameters may be numbers and booleans, as written", "[spec]") {
  const auto fixed = Parsed(R"({"static_hyperparameters": {"a": 0.10, "b": true, "c": "x", "d": 5}})")
                         .static_hyperparameters();
  CHECK(fixed.at("a") == "0.10");
  CHECK(fixed.at("b") == "true");
  CHECK(fixed.at("c") == "x");
  CHECK(fixed.at("d") == "5");
}

TEST_CASE("Job file: blocks of the search are read, maps of numbers and optional numbers too", "[spec]") {
  const v1::TuningJobSpec spec = Parsed(R"({
    "sampler": {"kind": "GRID", "grid_points": {"x": 4, "y": "5"}},
    "pruner": {"kind": "ASHA", "form": "STOPPING", "min_chance": 0, "warmUpTrials": 0, "stop_weak_brackets": false},
    "constraints": [{"coefficients": {"x": 1.5, "y": -2}, "max": 0}],
    "initial_configurations": [{"hyperparameters": {"x": 0.10, "y": true, "z": "t"}}],
    "completion": {"target_objective": 0},
    "parameters": [{"name": "x", "discrete": {"values": [1, 2.5]}, "condition": {"parameter": "y", "values": [1, "b"]},
                    "prior": {"value": 2.5, "confidence": "high"}},
                   {"name": "y", "categorical": {"values": ["true"]}, "prior": {"value": true}}],
    "warm_start": {"jobs": ["a-1"], "optuna_studies": [{"file": "s.db", "study": "s"}]},
    "trainer": {"external": true, "lease": "90s"}})");
  CHECK(spec.sampler().grid_points().at("y") == 5);
  CHECK(spec.pruner().form() == v1::PrunerSpec::STOPPING);
  CHECK((spec.pruner().has_min_chance() && spec.pruner().has_warm_up_trials()));
  CHECK((spec.pruner().has_stop_weak_brackets() && !spec.pruner().stop_weak_brackets()));
  CHECK(spec.constraints(0).coefficients().at("y") == -2);
  CHECK((spec.constraints(0).has_max() && !spec.constraints(0).has_min()));
  CHECK(spec.initial_configurations(0).hyperparameters().at("x") == "0.10");
  CHECK(spec.initial_configurations(0).hyperparameters().at("y") == "true");
  CHECK(spec.parameters(0).discrete().values(1) == 2.5);
  CHECK(spec.parameters(0).condition().values(0) == "1");
  CHECK(spec.parameters(0).prior().value() == "2.5");
  CHECK(spec.parameters(0).prior().confidence() == v1::ParameterPrior::HIGH);
  CHECK(spec.parameters(1).prior().value() == "true");
  CHECK(spec.completion().has_target_objective());
  CHECK(spec.warm_start().optuna_studies(0).study() == "s");
  CHECK(spec.trainer().lease().seconds() == 90);
}

TEST_CASE("Job file: no cut of a file crashes the reader or passes for a job", "[spec]") {
  const std::string whole = BuiltinJob();
  for (size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    REQUIRE_FALSE(ParseJobFile(whole.substr(0, length)).violations.empty());
  }
}

TEST_CASE("Job file: a file with any one byte changed is read or refused, never worse", "[spec]") {
  const std::string whole = CommandJob();
  size_t refused = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const char byte : {'\0', '"', '}', '9', '\xff'}) {
      std::string changed = whole;
      changed[i] = byte;
      for (const Violation& violation : Violations(changed)) {
        REQUIRE_FALSE(violation.field.empty());
        REQUIRE_FALSE(violation.description.empty());
        ++refused;
      }
    }
  }
  CHECK(refused > whole.size());
}

TEST_CASE("Job file: the examples are valid", "[spec]") {
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(WINNOW_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    CAPTURE(entry.path().string());
    CHECK(Listed(Violations(text.str())) == "");
    ++examples;
  }
  CHECK(examples > 0);
}

}  // namespace
}  // namespace winnow
