#include "json/message_json.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "winnow/v1/artifact.pb.h"
#include "winnow/v1/insight.pb.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {
namespace {

using nlohmann::json;

template <class Message>
Message FromText(const std::string& text) {
  Message message;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

json Written(const google::protobuf::Message& message) {
  const json one_line = json::parse(MessageJson(message, JsonLayout::kOneLine));
  CHECK(json::parse(MessageJson(message, JsonLayout::kIndented)) == one_line);
  return one_line;
}

TEST_CASE(
    "MessageJson: names are those of the .proto, and what is not set is written but for messages and "
    "optional fields",
    "[json]") {
  const json trial = Written(FromText<v1::Trial>("number: 7 state: PRUNED"));
  CHECK(trial["number"] == 7);
  CHECK(trial["state"] == "PRUNED");
  CHECK(trial["state_reason"] == "");
  CHECK(trial["best_resource"] == 0);
  CHECK(trial["hyperparameters"] == json::array());
  CHECK(trial["configuration"] == json::object());
  CHECK_FALSE(trial.contains("objective"));
  CHECK_FALSE(trial.contains("start_time"));
  CHECK_FALSE(trial.contains("stateReason"));
}

TEST_CASE("MessageJson: hyperparameters stand by name too, those alone that the trial has", "[json]") {
  const json trial = Written(FromText<v1::SuggestedTrial>(R"(
    hyperparameters { name: "lr" continuous: 0.1 } hyperparameters { name: "momentum" }
    hyperparameters { name: "layers" integer: 3 } hyperparameters { name: "act" categorical: "relu" })"));
  CHECK(trial["configuration"] == json({{"lr", 0.1}, {"layers", 3}, {"act", "relu"}}));
  CHECK(trial["hyperparameters"].size() == 4);
  CHECK(trial["hyperparameters"][1] == json({{"name", "momentum"}}));
  CHECK(trial["hyperparameters"][2]["integer"] == 3);
}

TEST_CASE("MessageJson: whole numbers are numbers as far as a double holds them, and text beyond", "[json]") {
  v1::TuningJobSpec spec;
  const auto seed = [&](uint64_t value) {
    spec.set_seed(value);
    return Written(spec)["seed"];
  };
  CHECK(seed(uint64_t{1} << 53) == uint64_t{1} << 53);
  CHECK(seed((uint64_t{1} << 53) + 1) == "9007199254740993");
  CHECK(seed(std::numeric_limits<uint64_t>::max()) == "18446744073709551615");
  v1::HyperparameterValue value;
  value.set_integer(std::numeric_limits<int64_t>::min());
  CHECK(Written(value)["integer"] == "-9223372036854775808");
  value.set_integer(-(int64_t{1} << 53));
  CHECK(Written(value)["integer"] == -(int64_t{1} << 53));
}

TEST_CASE("MessageJson: doubles come back as they were, and NaN and the infinities are text", "[json]") {
  v1::Progress progress;
  const double values[] = {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 1e22, 123456789.125};
  for (const double value : values) progress.add_best(value);
  const json read = Written(progress)["best"];
  for (int i = 0; i < progress.best_size(); ++i)
    CHECK(read[static_cast<size_t>(i)].get<double>() == progress.best(i));
  progress.clear_best();
  progress.add_best(std::numeric_limits<double>::quiet_NaN());
  progress.add_best(std::numeric_limits<double>::infinity());
  progress.add_best(-std::numeric_limits<double>::infinity());
  CHECK(Written(progress)["best"] == json({"NaN", "Infinity", "-Infinity"}));
}

TEST_CASE("MessageJson: any bytes of text give JSON on as many lines as asked for", "[json]") {
  v1::TuningJob job;
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  job.set_state_reason(all + "ü€😀\xed\xa0\x80\xf4\x90\x80\x80\xc0\xaf\xe2\x82");
  const std::string line = MessageJson(job, JsonLayout::kOneLine);
  CHECK(line.find('\n') == std::string::npos);
  CHECK(line.find('<') == std::string::npos);
  const std::string read = json::parse(line)["state_reason"];
  CHECK(read.substr(0, 128) == all.substr(0, 128));
  CHECK(read.find("ü€😀\uFFFD") != std::string::npos);
}

TEST_CASE("MessageJson: times, durations, bytes, maps and enums of a newer version", "[json]") {
  v1::TuningJob job = FromText<v1::TuningJob>(R"(
    create_time { seconds: 1795248001 nanos: 500000000 }
    spec { limits { max_wall_time { seconds: 90 } }
           static_hyperparameters { key: "b" value: "2" } static_hyperparameters { key: "a" value: "1" }
           channels { key: "train_set" value { path: "x.csv" } } })");
  job.set_state(static_cast<v1::TuningJob::State>(99));
  const std::string text = MessageJson(job, JsonLayout::kOneLine);
  CHECK(text.find(R"("static_hyperparameters":{"a":"1","b":"2"})") != std::string::npos);
  const json read = json::parse(text);
  CHECK(read["create_time"] == "2026-11-21T08:00:01.500Z");
  CHECK(read["spec"]["limits"]["max_wall_time"] == "90s");
  CHECK(read["spec"]["channels"]["train_set"]["path"] == "x.csv");
  CHECK(read["state"] == 99);
  v1::GetLogsResponse logs;
  logs.set_data(std::string("\0\xff\x01", 3));
  CHECK(Written(logs)["data"] == "AP8B");
}

// A parser of proto3's JSON accepts it.
TEST_CASE("MessageJson: protobuf reads it back as the same message", "[json]") {
  v1::TuningJob job = FromText<v1::TuningJob>(R"(
    id: "a" state: STOPPED best { trial: 3 objective: 0.5 resource: 9007199254740993 }
    spec { name: "a" seed: 18446744073709551615 objective { metric: "loss" goal: MINIMIZE value: MEAN }
           parameters { name: "x" integer { min: -5 max: 9 scaling: LINEAR } }
           parameters { name: "y" categorical { values: "a\"b" values: "\n" } condition { parameter: "x" values: "1" } }
           trainer { command: "sh" environment { key: "A" value: "=1" } lease { nanos: 1 } } }
    brackets { rungs { resource: 1 cutoff: nan } } spend { elapsed_seconds: inf })");
  v1::TuningJob read;
  const auto status =
      google::protobuf::util::JsonStringToMessage(MessageJson(job, JsonLayout::kIndented), &read);
  INFO(status.ToString());
  REQUIRE(status.ok());
  CHECK(read.SerializeAsString().size() == job.SerializeAsString().size());
  job.mutable_brackets(0)->mutable_rungs(0)->clear_cutoff();
  read.mutable_brackets(0)->mutable_rungs(0)->clear_cutoff();
  CHECK(google::protobuf::util::MessageDifferencer::Equals(job, read));
}

}  // namespace
}  // namespace winnow
