// Strategies that ask a model, and trainers outside, on real processes: every decision can be made again from
// the record.

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "checkout.h"
#include "tests/catch.h"
#include "tests/cli/process.h"
#include "tests/e2e/job_client.h"
#include "tests/support/server_process.h"

namespace winnow {
namespace {

using nlohmann::json;

const char* kServer = WINNOW_BIN_DIR "/winnow-server";
const char* kExamples = WINNOW_SOURCE_DIR "/examples";

// Runs the job to its end on a server of its own with four slots, and replays it.
class EndedJob {
 public:
  explicit EndedJob(const std::string& job_file)
      : server_(kServer, {"--local-workers", "2", "--slots", "2"}) {
    WriteClassificationTable(server_.folder() + "/train.csv", 2000, 1);
    v1::TuningJobSpec spec = SpecFromJson(job_file);
    spec.set_working_directory(server_.folder());
    JobClient client(server_.Client());
    id_ = client.Create(spec);
    job_ = client.WatchToEnd(id_, [](const auto&) {});
  }

  const v1::TuningJob& job() const { return job_; }
  std::string log() const { return server_.log(); }
  Result Winnow(const std::string& command, const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {command, id_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunWinnow(arguments, server_.address());
  }

 private:
  ServerProcess server_;
  std::string id_;
  v1::TuningJob job_;
};

// Checks that every trial has a sentence on why it was chosen, and every stopped one on why it was stopped.
void CheckExplained(const EndedJob& ended, int64_t trials) {
  for (int64_t number = 1; number <= trials; ++number) {
    const json trial =
        json::parse(ended.Winnow("describe", {std::to_string(number), "-o", "json"}).out)["trial"];
    INFO(trial.dump(2));
    CHECK_FALSE(trial["choice_reason"].get<std::string>().empty());
    if (trial["state"] == "PRUNED") CHECK_FALSE(trial["state_reason"].get<std::string>().empty());
    const std::string shown = ended.Winnow("describe", {std::to_string(number)}).out;
    CHECK(shown.find("  chosen    ") != std::string::npos);
  }
}

void CheckReplays(const EndedJob& ended) {
  const Result replay = ended.Winnow("replay", {"--verify", "--output", "json"});
  INFO(replay.out << replay.err << ended.log());
  CHECK(replay.code == 0);
  CHECK(json::parse(replay.out)["mismatch"] == 0);
}

TEST_CASE("A job without a strategy freezes and thaws trials, and replays to the bit", "[e2e]") {
  const EndedJob ended(R"({
    "name": "thaw", "trainer": {"builtin": "gbdt"},
    "channels": {"train": {"path": "train.csv", "label": "y", "validation_fraction": 0.25}},
    "static_hyperparameters": {"objective": "binary:logistic", "eval_metric": "auc", "num_round": "27"},
    "parameters": [
      {"name": "eta", "continuous": {"min": 0.01, "max": 1, "scaling": "LOG"}},
      {"name": "max_depth", "integer": {"min": 1, "max": 8}},
      {"name": "subsample", "continuous": {"min": 0.3, "max": 1}}
    ],
    "use_portfolio": true,
    "objective": {"metric": "validation:auc", "goal": "MAXIMIZE"},
    "limits": {"max_trials": 16}, "seed": 5})");
  INFO(ended.log());
  CHECK(ended.job().state() == v1::TuningJob::COMPLETED);
  CHECK(ended.job().strategy_text().find("FREEZE_THAW") != std::string::npos);
  CHECK(ended.job().spend().resource() < 16 * 27);
  CHECK(ended.job().best().objective() > 0.6);
  CheckExplained(ended, 16);
  CheckReplays(ended);
}

TEST_CASE("A BOHB job over a shell trainer replays to the bit", "[e2e]") {
  const EndedJob ended(R"json({
    "name": "bohb",
    "trainer": {"command": ["awk", "-v", "x={{x}}", "-v", "y={{y}}",
        "BEGIN {for (i = 1; i <= 9; i++) print \"step \" i \" loss=\" (x - 0.3)^2 + (y - 0.6)^2 + 1 / i; fflush()}"],
      "metrics": [{"name": "loss", "regex": "loss=(.*)"}], "resource_regex": "step ([0-9]+)", "resumes": false},
    "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}, {"name": "y", "continuous": {"min": 0, "max": 1}}],
    "objective": {"metric": "loss", "goal": "MINIMIZE"},
    "strategy": "BOHB", "hyperband": {"max_resource": 9}, "limits": {"max_trials": 44}, "seed": 9})json");
  INFO(ended.log());
  CHECK(ended.job().state() == v1::TuningJob::COMPLETED);
  CHECK(ended.job().strategy_text().find("TPE") != std::string::npos);
  CHECK(ended.job().best().objective() < 0.3);
  CheckExplained(ended, 44);
  CheckReplays(ended);
}

TEST_CASE("The example of a conditional space: a trainer is given only the hyperparameters that exist",
          "[e2e]") {
  ServerProcess server(kServer, {"--local-workers", "1", "--slots", "2"});
  const Result watched =
      RunWinnow({"submit", std::string(kExamples) + "/conditional-space.json", "--watch"}, server.address());
  INFO(watched.err << server.log());
  REQUIRE(watched.code == 0);
  const json answer = json::parse(RunWinnow({"analytics", "latest", "-o", "json"}, server.address()).out);
  CHECK(answer["job"]["trial_counts"]["failed"] == 0);
  std::map<std::string, size_t> given;  // hyperparameters, by kind
  for (const json& trial : answer["trials"]) {
    size_t count = 0;
    for (const json& value : trial["hyperparameters"]) {
      count += value.contains("continuous") || value.contains("categorical") ? 1 : 0;
    }
    given[trial["hyperparameters"][1]["categorical"]] = count;
  }
  CHECK(given == std::map<std::string, size_t>{{"plain", 2}, {"heavy", 3}, {"adaptive", 4}});
}

TEST_CASE("Ask and tell: the example's client trains a whole job, which replays", "[e2e]") {
  ServerProcess server(kServer, {"--local-workers", "0"});
  const Result submitted =
      RunWinnow({"submit", std::string(kExamples) + "/ask-and-tell.json"}, server.address());
  INFO(submitted.err << server.log());
  REQUIRE(submitted.code == 0);
  const std::string command = "WINNOW_SERVER=" + server.address() + " /usr/bin/python3 " + kExamples +
                              "/ask_and_tell.py latest --winnow " WINNOW_BIN_DIR "/winnow 2>&1";
  FILE* client = popen(command.c_str(), "r");
  REQUIRE(client != nullptr);
  std::string said;
  char line[1024];
  while (fgets(line, sizeof line, client) != nullptr) said += line;
  INFO(said);
  CHECK(pclose(client) == 0);
  CHECK(said.find("the job has ended: COMPLETED") != std::string::npos);
  const json job = json::parse(RunWinnow({"describe", "latest", "-o", "json"}, server.address()).out);
  CHECK(job["trial_counts"]["failed"] == 0);
  CHECK(job["best"]["objective"] < 1);
  CHECK(RunWinnow({"replay", "latest", "--verify"}, server.address()).code == 0);
}

TEST_CASE("Ask and tell: a completed attempt takes no further reports, and an ended job gives no trials",
          "[e2e]") {
  ServerProcess server(kServer, {"--local-workers", "0"});
  const std::string job = R"({"name": "one", "trainer": {"external": true},
    "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
    "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM", "limits": {"max_trials": 1}})";
  const auto run = [&server](const std::vector<std::string>& arguments) {
    return RunWinnow(arguments, server.address());
  };
  REQUIRE(RunWinnow({"submit", "-"}, server.address(), job).code == 0);
  const Result asked = run({"ask", "one", "--wait", "30s"});
  INFO(asked.err << server.log());
  REQUIRE(asked.code == 0);
  CHECK(asked.out.rfind("1 1 0 0 x=", 0) == 0);
  CHECK(run({"tell", "one", "1", "1", "--metric", "loss=0.5", "--resource", "1"}).out == "go on\n");
  const Result wrong = run({"tell", "one", "1", "2", "--metric", "loss=0.1", "--resource", "1"});
  CHECK(wrong.code == 1);
  CHECK(run({"complete", "one", "1", "1"}).out.rfind("trial 1 is COMPLETED", 0) == 0);
  CHECK(run({"ask", "one"}).code == 3);
  const json best = json::parse(run({"best", "one", "-o", "json"}).out);
  CHECK(best["best_objective"] == 0.5);
}

TEST_CASE("Priors: their values are tried first, every choice that they moved says so, and the job replays",
          "[e2e]") {
  ServerProcess server(kServer, {"--local-workers", "1", "--slots", "1"});
  const std::string job =
      R"json({"name": "believed", "strategy": "BAYESIAN", "limits": {"max_trials": 9}, "seed": 3,
    "trainer": {"command": ["/bin/sh", "-c", "echo loss=$(awk 'BEGIN {print ({{x}} - 0.7) ^ 2}')"], "resumes": false,
                "metrics": [{"name": "loss", "regex": "loss=([-+0-9.e]+)"}]},
    "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}, "prior": {"value": 0.65, "confidence": "HIGH"}},
      {"name": "kind", "categorical": {"values": ["a", "b"]}, "prior": {"value": "b"}}],
    "objective": {"metric": "loss", "goal": "MINIMIZE"}, "working_directory": ")json" +
      server.folder() + "\"}";
  const auto run = [&server](const std::vector<std::string>& arguments, const std::string& input = "") {
    return RunWinnow(arguments, server.address(), input);
  };
  const Result submitted = run({"submit", "-", "--watch"}, job);
  INFO(submitted.out << submitted.err << server.log());
  REQUIRE(submitted.code == 0);
  const auto trial = [&](int number) {
    return json::parse(run({"describe", "believed", std::to_string(number), "-o", "json"}).out)["trial"];
  };
  CHECK(trial(1)["configuration"] == json({{"x", 0.65}, {"kind", "b"}}));
  CHECK(trial(1)["choice_reason"] == "The values of the job's priors, and the middle of other ranges.");
  // How many results a choice knows depends on how soon those before it were reported.
  std::string by_model;
  for (int number = 5; number <= 9 && by_model.empty(); ++number) {
    const std::string why = trial(number)["choice_reason"];
    if (why.find("Gaussian process") == 0) by_model = why;
  }
  INFO(by_model);
  CHECK(by_model.find("the job's priors at ") != std::string::npos);
  CHECK(run({"replay", "believed", "--verify"}).code == 0);
}

TEST_CASE("Ranges from earlier jobs: winnow plan proposes what a finished job speaks for", "[e2e]") {
  ServerProcess server(kServer, {"--local-workers", "1", "--slots", "4"});
  const auto job = [&server](const std::string& name) {
    return R"json({"name": ")json" + name + R"json(", "strategy": "RANDOM", "limits": {"max_trials": 60},
    "trainer": {"command": ["/bin/sh", "-c", "echo loss=$(awk 'BEGIN {print ({{x}} - 0.3) ^ 2}')"], "resumes": false,
                "metrics": [{"name": "loss", "regex": "loss=([-+0-9.e]+)"}]},
    "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}, {"name": "y", "integer": {"min": 1, "max": 9}}],
    "objective": {"metric": "loss", "goal": "MINIMIZE"}, "working_directory": ")json" +
           server.folder() + "\"}";
  };
  const Result first = RunWinnow({"submit", "-", "--watch"}, server.address(), job("first"));
  INFO(first.out << first.err << server.log());
  REQUIRE(first.code == 0);
  const Result planned =
      RunWinnow({"plan", "-", "--suggest-ranges", "-o", "json"}, server.address(), job("second"));
  INFO(planned.out << planned.err);
  const json answer = json::parse(planned.out);
  CHECK(answer["jobs"] == json({"first"}));
  REQUIRE(answer["changes"].size() == 1);
  CHECK(answer["changes"][0]["parameter"] == "x");
  CHECK(answer["parameters"][0]["continuous"]["max"] < 0.7);
  CHECK(answer["parameters"][1]["integer"]["max"] == 9);
}

TEST_CASE("Warm start: every row of what winnow analytics writes of a conditional space is used", "[e2e]") {
  ServerProcess server(kServer, {"--local-workers", "1", "--slots", "4"});
  // A value that a spreadsheet would compute, and a hyperparameter that has the name of a column.
  const std::string space =
      R"json("trainer": {"command": ["/bin/sh", "-c", "echo loss=0.{{layers}}"], "resumes": false,
                 "metrics": [{"name": "loss", "regex": "loss=([0-9.]+)"}]},
    "parameters": [{"name": "optimizer", "categorical": {"values": ["sgd", "=adam"]}},
      {"name": "momentum", "continuous": {"min": 0.5, "max": 1}, "condition": {"parameter": "optimizer", "values": ["sgd"]}},
      {"name": "beta2", "continuous": {"min": 2, "max": 3}, "condition": {"parameter": "optimizer", "values": ["=adam"]}},
      {"name": "state", "integer": {"min": 4, "max": 5}},
      {"name": "layers", "integer": {"min": 10, "max": 99}}],
    "objective": {"metric": "loss", "goal": "minimize"}, "working_directory": ")json" +
      server.folder() + "\"";
  const auto run = [&server](const std::vector<std::string>& arguments, const std::string& input = "") {
    return RunWinnow(arguments, server.address(), input);
  };
  const Result first =
      run({"submit", "-", "--watch"},
          R"({"name": "first", "strategy": "random", "limits": {"max_trials": 16}, )" + space + "}");
  INFO(first.out << first.err << server.log());
  REQUIRE(first.code == 0);
  const Result csv = run({"analytics", "first", "--output", "csv"});
  CHECK(csv.out.find(",'=adam,") != std::string::npos);
  CHECK(csv.out.find(",sgd,") != std::string::npos);
  std::ofstream(server.folder() + "/first.csv") << csv.out;
  const Result second =
      run({"submit", "-"}, R"({"name": "second", "strategy": "bayesian", "limits": {"max_trials": 1},
    "warm_start": {"csv_files": ["first.csv"]}, )" +
                               space + "}");
  INFO(second.out << second.err);
  REQUIRE(second.code == 0);
  const json job = json::parse(run({"describe", "second", "-o", "json"}).out);
  CHECK(job["warm_start_text"] == "16 results used: 16 from first.csv.");
}

}  // namespace
}  // namespace winnow
