#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.h"
#include "tests/cli/fake_service.h"
#include "tests/cli/process.h"
#include "tests/cli/sample.h"

namespace winnow {

using nlohmann::json;

namespace {

// A folder with a file of text each, removed at the end.
class Files {
 public:
  Files() {
    std::string pattern = (std::filesystem::temp_directory_path() / "winnow-simulate-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
  }
  ~Files() { std::filesystem::remove_all(folder_); }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

 private:
  std::filesystem::path folder_;
};

std::string JobOf(const std::string& more) {
  return R"json({"name": "curves",
    "trainer": {"command": ["/bin/true"], "metrics": [{"name": "auc", "regex": "auc=(.*)"}]},
    "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}},
                   {"name": "kind", "categorical": {"values": ["a", "b"]}}],
    "objective": {"metric": "auc", "goal": "MAXIMIZE"}, )json" +
         more + "}";
}

// Twenty rows whose values rise with x, and with the level; kind b is better by a little.
std::string Curves() {
  std::string text = "x:continuous:0:1,kind,seconds_per_unit,1,2,3,4,5,6,7,8,9\n";
  for (int i = 0; i < 20; ++i) {
    const double x = i / 20.0;
    text += std::to_string(x) + (i % 2 == 0 ? ",a" : ",b") + ",2";
    for (int level = 1; level <= 9; ++level) {
      text += "," + std::to_string((x + (i % 2) * 0.01) * level / 9);
    }
    text += "\n";
  }
  return text;
}

const char* const kHyperband = R"("strategy": "HYPERBAND", "hyperband": {"max_resource": 9})";

}  // namespace

TEST_CASE("simulate: a job over recorded curves, beside every trial trained to its end", "[cli]") {
  const Files files;
  const std::string job = files.Write("job.json", JobOf(kHyperband)),
                    table = files.Write("curves.csv", Curves());
  const Result result = RunWinnow(
      {"simulate", job, "--table", table, "--workers", "2", "--seeds", "3", "--output", "json"}, "");
  INFO(result.err);
  REQUIRE(result.code == 0);
  const json answer = json::parse(result.out);
  CHECK(answer["rows"] == 20);
  REQUIRE(answer["runs"].size() == 3);
  for (const json& run : answer["runs"]) {
    CHECK(run["search"]["trials"] == run["run_through"]["trials"]);
    CHECK(run["run_through"]["resource"] == 9 * run["search"]["trials"].get<int>());
    CHECK(run["search"]["resource"] < run["run_through"]["resource"]);
    CHECK(run["search"]["elapsed_seconds"] < run["run_through"]["elapsed_seconds"]);
    CHECK(run["search"]["best_objective"] > 0.5);
  }
  CHECK(answer["runs"][0] != answer["runs"][1]);
  const Result again = RunWinnow(
      {"simulate", job, "--table", table, "--workers", "2", "--seeds", "3", "--output", "json"}, "");
  CHECK(again.out == result.out);
  const Result text = RunWinnow({"simulate", job, "--table", table, "--seed", "5", "--seeds", "2"}, "");
  CHECK(text.out.find("HYPERBAND, R = 9, eta = 3, maximize auc") != std::string::npos);
  CHECK(text.out.find("median of 2 seeds: best ") != std::string::npos);
}

TEST_CASE("simulate: a job whose trials are ranked by more than one metric is refused", "[cli]") {
  const Files files;
  const std::string table = files.Write("curves.csv", Curves());
  const std::string job = files.Write(
      "job.json",
      JobOf(R"("metric_constraints": [{"metric": "auc", "at_least": 0.5}], )" + std::string(kHyperband)));
  const Result result = RunWinnow({"simulate", job, "--table", table}, "");
  CHECK(result.code != 0);
  CHECK(result.err.find("metric_constraints: is given, but a table has one metric") != std::string::npos);
}

TEST_CASE("simulate: parts take their start-up too, and the output gives its share", "[cli]") {
  const Files files;
  const std::string job = files.Write("job.json", JobOf(kHyperband)),
                    table = files.Write("curves.csv", Curves());
  const auto simulated = [&](const std::string& seconds, const std::string& output) {
    const Result result =
        RunWinnow({"simulate", job, "--table", table, "--startup-seconds", seconds, "--output", output}, "");
    INFO(result.err);
    REQUIRE(result.code == 0);
    return result.out;
  };
  const json none = json::parse(simulated("0", "json"))["runs"][0],
             some = json::parse(simulated("20", "json"))["runs"][0];
  CHECK(none["search"]["startup_fraction"] == 0);
  CHECK(some["search"]["resource"] == none["search"]["resource"]);  // Hyperband's table is what it is
  CHECK(some["search"]["elapsed_seconds"] > none["search"]["elapsed_seconds"]);
  // A unit takes two seconds, a trial through to its end nine units.
  CHECK(some["run_through"]["startup_fraction"].get<double>() == Approx(20.0 / (20 + 9 * 2)).epsilon(0.01));
  CHECK(simulated("20", "text").find("START-UP") != std::string::npos);
  CHECK(simulated("0", "text").find("START-UP") == std::string::npos);
}

TEST_CASE("simulate: limits on parallel trials and node seconds hold in virtual time", "[cli]") {
  const Files files;
  const std::string table = files.Write("curves.csv", Curves());
  const auto simulated = [&](const std::string& limits) {
    const std::string job = files.Write(
        "job.json", JobOf(R"("strategy": "RANDOM", "limits": {"max_trial_resource": 9, )" + limits + "}"));
    const Result result =
        RunWinnow({"simulate", job, "--table", table, "--workers", "4", "--output", "json"}, "");
    INFO(result.err);
    return json::parse(result.out)["runs"][0];
  };
  // A unit takes two seconds.
  const json one = simulated(R"("max_trials": 4, "max_parallel_trials": 1)");
  CHECK(one["search"]["elapsed_seconds"].get<double>() == Approx(4 * 9 * 2).epsilon(0.01));
  CHECK(one["run_through"]["elapsed_seconds"].get<double>() == Approx(4 * 9 * 2).epsilon(0.01));
  const json two = simulated(R"("max_node_seconds": 70, "max_parallel_trials": 2)");
  CHECK(two["search"]["elapsed_seconds"].get<double>() == Approx(35).epsilon(0.01));
  CHECK(two["search"]["resource"] == 34);  // two trials, 17 whole units each
}

TEST_CASE("simulate: a table that cannot serve is refused by line, column and expectation", "[cli]") {
  const Files files;
  const std::string job = files.Write("job.json", JobOf(kHyperband));
  const auto error = [&](const std::string& table) {
    const Result result = RunWinnow({"simulate", job, "--table", files.Write("t.csv", table)}, "");
    CHECK(result.code == 1);
    return result.err;
  };
  const auto says = [&](const std::string& table, const std::string& part) {
    const std::string said = error(table);
    INFO(said);
    CHECK(said.find(part) != std::string::npos);
  };
  says("x,kind,depth,1\n", "column \"depth\" is not a hyperparameter");
  says("x,1\n", "no column \"kind\"");
  says("x,kind\n", "no level; expected columns 1, 2");
  says("x,kind,1,3\n", "column 4 is \"3\"; expected level 2");
  says("x,kind,1\n0.5,a\n", "line 2: 2 cells; expected 3");
  says("x,kind,1\nhigh,a,1\n", "line 2: x is \"high\"; expected a number from 0 to 1");
  says("x,kind,1\n0.5,a,good\n", "line 2: column 3 is \"good\"; expected a number");
  says("x,kind,seconds_per_unit,1\n0.5,a,0,1\n", "line 2: column 3 is \"0\"; expected seconds above 0");
  says("x,kind,1\n5,a,1\n", "no row inside the job's search space (1 outside)");
  says("x,kind,1,2\n0.5,a,1,2\n", "has 2 levels, but the job trains to 9");
  CHECK(RunWinnow({"simulate", job, "--table", "/no/such/table"}, "").err.find("cannot open the table") !=
        std::string::npos);
}

TEST_CASE("simulate: a hyperparameter that does not exist has an empty cell", "[cli]") {
  const Files files;
  // Kind b is better than a by far, and among those a small rate.
  std::string table = "kind,rate,1\n";
  for (int i = 0; i <= 10; ++i) {
    table += "a,,0.5\nb," + std::to_string(i / 10.0) + "," + std::to_string(2 - i / 10.0) + "\n";
  }
  const std::string job =
      files.Write("job.json", R"json({"name": "conditional", "trainer": {"external": true},
    "parameters": [{"name": "kind", "categorical": {"values": ["a", "b"]}},
                   {"name": "rate", "continuous": {"min": 0, "max": 1}, "condition": {"parameter": "kind", "values": ["b"]}}],
    "objective": {"metric": "auc", "goal": "MAXIMIZE"},
    "initial_configurations": [{"hyperparameters": {"kind": "b", "rate": 0.22}}, {"hyperparameters": {"kind": "a"}}],
    "strategy": "RANDOM", "limits": {"max_trials": 2, "max_trial_resource": 1}})json");
  const auto best = [&](const std::string& rows) {
    const Result result =
        RunWinnow({"simulate", job, "--table", files.Write("t.csv", rows), "--output", "json"}, "");
    INFO(result.err);
    REQUIRE(result.code == 0);
    return json::parse(result.out)["runs"][0]["search"]["best_objective"].get<double>();
  };
  CHECK(best(table) == 1.8);
  CHECK(best("kind,rate,1\na,,0.5\n") == 0.5);
  const Result refused =
      RunWinnow({"simulate", job, "--table", files.Write("t.csv", "kind,rate,1\n,,0.5\n")}, "");
  CHECK(refused.err.find("no row inside the job's search space (1 outside)") != std::string::npos);
}

TEST_CASE("simulate: a hyperparameter may have ':' in its name, and what follows its name has no meaning",
          "[cli]") {
  const Files files;
  const std::string job = files.Write("job.json", R"json({"name": "colons", "trainer": {"external": true},
    "parameters": [{"name": "optimizer:rate", "continuous": {"min": 0, "max": 1}}],
    "objective": {"metric": "auc", "goal": "MAXIMIZE"},
    "strategy": "RANDOM", "limits": {"max_trials": 2, "max_trial_resource": 1}})json");
  for (const std::string heading : {"optimizer:rate", "optimizer:rate:continuous:0:1"}) {
    const Result result =
        RunWinnow({"simulate", job, "--table", files.Write("t.csv", heading + ",1\n0.5,0.7\n")}, "");
    INFO(result.err);
    CHECK(result.code == 0);
  }
}

TEST_CASE("simulate: the median is of the runs that found a value", "[cli]") {
  const Files files;
  const std::string table = files.Write("curves.csv", Curves());
  const std::string job = files.Write(
      "job.json",
      JobOf(R"("strategy": "RANDOM", "limits": {"max_trial_resource": 9, "max_node_seconds": 1})"));
  const Result result = RunWinnow({"simulate", job, "--table", table, "--seeds", "2"}, "");
  INFO(result.err << result.out);
  CHECK(result.code == 0);  // a unit takes two seconds
  CHECK(result.out.find("median of 2 seeds: best – against 0.") != std::string::npos);
}

TEST_CASE("plan: warns on standard error of what a job may not mean", "[cli]") {
  const Result result = RunWinnow({"plan", "-"}, "", R"({"name": "m", "trainer": {"builtin": "mlp"},
      "channels": {"train": {"path": "t"}}, "cluster": {"nodes": 4}, "strategy": "RANDOM",
      "static_hyperparameters": {"distribution": "PARAMETER_SERVER", "momentum": 0.9},
      "parameters": [{"name": "lr", "continuous": {"min": 0.01, "max": 0.1}}], "limits": {"max_trials": 2},
      "objective": {"metric": "train:loss", "goal": "MINIMIZE"}})");
  CHECK(result.code == 0);
  CHECK(result.err.find("winnow: warning: distribution PARAMETER_SERVER with momentum 0.9 on 4 nodes") !=
        std::string::npos);
  CHECK(result.out.find("warning") == std::string::npos);
}

// A service with the ended job "bank" over rate and kind, whose best trials have a rate about 0.01 and kind
// "b".
void PutEarlierJob(FakeService& service) {
  v1::TuningJob job = SampleJob();
  *job.mutable_spec() = Text<v1::TuningJobSpec>(R"(
    name: "bank" trainer { external: true } objective { metric: "auc" goal: MAXIMIZE } strategy: RANDOM
    parameters { name: "rate" continuous { min: 0.0001 max: 1 scaling: LOG } }
    parameters { name: "kind" categorical { values: "a" values: "b" } })");
  service.jobs = {job};
  for (int i = 1; i <= 100; ++i) {
    v1::Trial trial;
    trial.set_number(i);
    trial.set_state(v1::Trial::COMPLETED);
    const double decade = -4.0 + 4.0 * ((i * 37) % 100) / 100;
    v1::HyperparameterValue& rate = *trial.add_hyperparameters();
    rate.set_name("rate");
    rate.set_continuous(std::pow(10, decade));
    v1::HyperparameterValue& kind = *trial.add_hyperparameters();
    kind.set_name("kind");
    kind.set_categorical(i % 2 == 0 ? "b" : "a");
    trial.set_value((i % 2 == 0 ? 2 : 0) - std::abs(decade + 2));
    service.trials.push_back(trial);
  }
}

// A job file over the same parameters.
std::string LaterJob(const std::string& more = "", const std::string& metric = "auc") {
  return R"json({"name": "later", "trainer": {"external": true}, "strategy": "RANDOM", "limits": {"max_trials": 9},
    "objective": {"metric": ")json" +
         metric + R"json(", "goal": "MAXIMIZE"},
    "parameters": [{"name": "rate", "continuous": {"min": 0.0001, "max": 1, "scaling": "LOG"}},
      {"name": "kind", "categorical": {"values": ["a", "b"]}}])json" +
         more + "}";
}

TEST_CASE("plan --suggest-ranges: says why, and prints parameters that a job file can have", "[cli]") {
  FakeService service;
  PutEarlierJob(service);
  for (const std::vector<std::string>& from : {std::vector<std::string>{}, {"--from", "bank"}}) {
    std::vector<std::string> arguments = {"plan", "-", "--suggest-ranges"};
    arguments.insert(arguments.end(), from.begin(), from.end());
    const Result text = RunWinnow(arguments, service.address(), LaterJob());
    INFO(text.out << text.err);
    REQUIRE(text.code == 0);
    CHECK(text.out.find("From 100 trials of 1 job: bank\n") == 0);
    CHECK(text.out.find("rate: narrower, 0.00") != std::string::npos);
    CHECK(text.out.find("All 25 good trials have it from 0.00") != std::string::npos);
    CHECK(text.out.find("None of the 25 good trials has a; by chance") != std::string::npos);
    const json pasted =
        json::parse("{" + text.out.substr(text.out.find("\"parameters\": ")) + "}")["parameters"];
    arguments.insert(arguments.end(), {"-o", "json"});
    const json answer = json::parse(RunWinnow(arguments, service.address(), LaterJob()).out);
    CHECK(answer["parameters"] == pasted);
    CHECK(answer["jobs"] == json({"bank"}));
    CHECK(answer["changes"][1]["change"] == "narrower");
    CHECK(answer["changes"][1]["to"] == "one of b");
    json job = json::parse(LaterJob());
    job["parameters"] = pasted;
    CHECK(RunWinnow({"plan", "-"}, "", job.dump()).code == 0);
    CHECK(pasted[0]["continuous"]["min"] > 0.0003);
    CHECK(pasted[0]["continuous"]["max"] < 0.3);
  }
}

TEST_CASE("plan --suggest-ranges: a value that a trial lacks is not taken from its next one", "[cli]") {
  FakeService service;
  PutEarlierJob(service);
  // As the server tells it: trials with b have no depth.
  v1::ParameterSpec depth;
  depth.set_name("depth");
  depth.mutable_continuous()->set_min(0);
  depth.mutable_continuous()->set_max(10);
  v1::Condition& condition = *depth.mutable_condition();
  condition.set_parameter("kind");
  condition.add_values("a");
  auto& parameters = *service.jobs[0].mutable_spec()->mutable_parameters();
  *parameters.Add() = depth;
  parameters.SwapElements(0, 1);  // kind, rate, depth
  parameters.SwapElements(1, 2);  // kind, depth, rate
  for (v1::Trial& trial : service.trials) {
    trial.mutable_hyperparameters()->SwapElements(0, 1);
    if (trial.hyperparameters(0).categorical() == "b") continue;
    v1::HyperparameterValue& value = *trial.add_hyperparameters();
    value.set_name("depth");
    value.set_continuous(5);
    trial.mutable_hyperparameters()->SwapElements(1, 2);
  }
  const Result text = RunWinnow({"plan", "-", "--suggest-ranges"}, service.address(), LaterJob());
  INFO(text.out << text.err);
  CHECK(text.out.find("rate: narrower, 0.00") != std::string::npos);
  CHECK(text.out.find("All 25 good trials have it from 0.00") != std::string::npos);
}

TEST_CASE("plan --suggest-ranges: an end beyond which an earlier job went on is none", "[cli]") {
  FakeService service;
  PutEarlierJob(service);
  for (v1::Trial& trial : service.trials) trial.set_value(trial.hyperparameters(0).continuous());
  const auto suggested = [&] {
    const Result text = RunWinnow({"plan", "-", "--suggest-ranges"}, service.address(), LaterJob());
    INFO(text.out << text.err);
    REQUIRE(text.code == 0);
    return text.out;
  };
  CHECK(suggested().find("rate: wider, ") != std::string::npos);
  // As the server tells it: its range was changed while it ran.
  v1::TuningJob& job = service.jobs[0];
  *job.mutable_parameters() = job.spec().parameters();
  job.mutable_parameters(0)->mutable_continuous()->set_max(10);
  CHECK(suggested().find("rate: narrower, ") != std::string::npos);
  // One that was narrowed has tried what was left out later.
  job.mutable_parameters(0)->mutable_continuous()->set_max(0.5);
  CHECK(suggested().find("rate: wider, ") != std::string::npos);
}

TEST_CASE("plan --suggest-ranges: a range that the rest of the job file needs stays", "[cli]") {
  FakeService service;
  PutEarlierJob(service);
  const Result result = RunWinnow(
      {"plan", "-", "--suggest-ranges", "-o", "json"}, service.address(),
      LaterJob(R"(, "initial_configurations": [{"hyperparameters": {"rate": 0.01, "kind": "a"}}])"));
  INFO(result.out << result.err);
  const json answer = json::parse(result.out);
  CHECK(answer["changes"][1]["change"] == "unchanged");
  CHECK(answer["changes"][1]["why"].get<std::string>().find(
            "Not changed, since then initial_configurations[0]") != std::string::npos);
  CHECK(answer["parameters"][1]["categorical"]["values"] == json({"a", "b"}));
  CHECK(answer["changes"][0]["change"] == "narrower");
}

TEST_CASE("plan --suggest-ranges: jobs that cannot be compared are refused, or not used", "[cli]") {
  FakeService service;
  PutEarlierJob(service);
  const auto suggested = [&](const std::vector<std::string>& from, const std::string& file) {
    std::vector<std::string> arguments = {"plan", "-", "--suggest-ranges"};
    arguments.insert(arguments.end(), from.begin(), from.end());
    return RunWinnow(arguments, service.address(), file);
  };
  const Result metric = suggested({"--from", "bank"}, LaterJob("", "loss"));
  CHECK(metric.code == 1);
  CHECK(metric.err.find("job bank is to MAXIMIZE auc; expected one to MAXIMIZE loss") != std::string::npos);
  CHECK(suggested({}, LaterJob("", "loss")).out ==
        "No earlier job has the same objective and some of the same parameters.\n"
        "Nothing speaks for other ranges.\n");
  json renamed = json::parse(LaterJob());
  renamed["parameters"][0]["name"] = "pace";
  renamed["parameters"][1]["name"] = "sort";
  const Result other = suggested({"--from", "bank"}, renamed.dump());
  CHECK(other.code == 1);
  CHECK(other.err.find("job bank tunes none of this job file's parameters") != std::string::npos);
  CHECK(suggested({"--from", "nobody"}, LaterJob()).code == 1);
  CHECK(RunWinnow({"plan", "-", "--from", "bank"}, service.address(), LaterJob()).code == 2);
}

TEST_CASE("plan: names what searches, whatever the strategy", "[cli]") {
  const auto planned = [](const std::string& members) {
    const Result result = RunWinnow({"plan", "-"}, "", JobOf(members));
    INFO(result.err);
    CHECK(result.code == 0);
    return result.out.substr(0, result.out.find('\n'));
  };
  CHECK(planned(kHyperband) == "curves  HYPERBAND, R = 9, eta = 3, maximize auc");
  CHECK(planned(R"("strategy": "ASHA", "pruner": {"max_resource": 27}, "limits": {"max_trials": 9})") ==
        "curves  ASHA, R = 27, eta = 3, maximize auc");
  CHECK(planned(R"("sampler": {"kind": "TPE"}, "pruner": {"kind": "MEDIAN"}, "limits": {"max_trials": 9})") ==
        "curves  TPE sampler, MEDIAN pruner, maximize auc");
  CHECK(planned(R"("limits": {"max_trials": 9, "max_trial_resource": 9})") ==
        "curves  FREEZE_THAW, R = 9, eta = 3, maximize auc");
  CHECK(planned(R"("strategy": "RANDOM", "limits": {"max_trials": 9}, "repeats": {"seeds": 5})") ==
        "curves  RANDOM sampler, PAIRED_TEST pruner, maximize auc, 5 seeds each");
  CHECK(planned(R"("strategy": "RANDOM", "limits": {"max_trials": 9},
                   "metric_constraints": [{"metric": "auc", "at_least": 0.5}])") ==
        "curves  RANDOM, maximize auc, auc at least 0.5");
  const std::string unknown = RunWinnow({"plan", "-"}, "", JobOf(R"("strategy": "BOHP")")).err;
  CHECK(unknown.find("1 problem") != std::string::npos);
  CHECK(unknown.find("strategy: is \"BOHP\"; expected one of RANDOM") != std::string::npos);
}

TEST_CASE("plan: many cycles of brackets are a line for each kind", "[cli]") {
  const std::string job = JobOf(
      R"("strategy": "HYPERBAND", "hyperband": {"max_resource": 9}, "limits": {"max_trials": 1000000})");
  const Result result = RunWinnow({"plan", "-"}, "", job);
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(std::count(result.out.begin(), result.out.end(), '\n') < 30);
  CHECK(result.out.size() < 3000);
  CHECK_THAT(result.out, Catch::Contains("BRACKETS") && Catch::Contains("9 × 1") &&
                             Catch::Contains("(1,000,000 trials)") && Catch::Contains("--output json"));
  const auto plan = nlohmann::json::parse(RunWinnow({"plan", "-", "-o", "json"}, "", job).out);
  CHECK(plan["brackets"].size() > 100'000);
  // With few of them each has its own line.
  const Result few = RunWinnow({"plan", "-"}, "", JobOf(kHyperband));
  CHECK_THAT(few.out, Catch::Contains("1: s = 2") && Catch::Contains("3: s = 0"));
}

TEST_CASE("plan: estimates the time from slots and the seconds of a unit", "[cli]") {
  const auto planned = [](const std::string& slots) {
    const Result result =
        RunWinnow({"plan", "-", "--workers", "2", "--slots", slots, "--unit-seconds", "3", "-o", "json"}, "",
                  JobOf(kHyperband));
    INFO(result.err);
    return json::parse(result.out);
  };
  const json one = planned("1"), eight = planned("8");
  CHECK(one["elapsed_seconds"] > eight["elapsed_seconds"]);
  CHECK(eight["elapsed_seconds"] > 0);
  CHECK(one["busy_fraction"] > eight["busy_fraction"]);
  CHECK(one["strategy_text"].get<std::string>().find("HYPERBAND") != std::string::npos);
  const Result slow = RunWinnow({"plan", "-", "--unit-seconds", "3", "--startup-seconds", "30", "-o", "json"},
                                "", JobOf(kHyperband));
  CHECK(json::parse(slow.out)["startup_fraction"] > 0.5);
  const Result told =
      RunWinnow({"plan", "-", "--unit-seconds", "3", "--startup-seconds", "30"}, "", JobOf(kHyperband));
  CHECK(told.out.find(" of that in start-up\n") != std::string::npos);
  CHECK(RunWinnow({"plan", "-", "--startup-seconds", "30"}, "", JobOf(kHyperband)).code == 2);
  const Result text = RunWinnow({"plan", "-", "--unit-seconds", "3"}, "", JobOf(kHyperband));
  CHECK(text.out.find("  time            about ") != std::string::npos);
  CHECK(RunWinnow({"plan", "-"}, "", JobOf(kHyperband)).out.find("about") == std::string::npos);
}

TEST_CASE("describe: what searches, what it began with, and why a bracket and a trial ended", "[cli]") {
  FakeService service;
  v1::TuningJob job = SampleJob();
  job.set_strategy_text("Sobol sampler under the HYPERBAND pruner");
  job.set_warm_start_text("41 results used: 20 from job a-1, 21 from study.db.");
  job.mutable_brackets(1)->set_end_reason("its survivors are behind.");
  service.jobs = {job};
  service.trials = SampleTrials();
  service.trials[0].set_choice_reason("Point 1 of the Sobol sequence.");
  const std::string described = RunWinnow({"describe", "bank"}, service.address()).out;
  CHECK(described.find("  search    Sobol sampler under the HYPERBAND pruner\n") != std::string::npos);
  CHECK(described.find("  earlier   41 results used: 20 from job a-1, 21 from study.db.\n") !=
        std::string::npos);
  CHECK(described.find("  bracket 2 ended: its survivors are behind.\n") != std::string::npos);
  const std::string trial = RunWinnow({"describe", "bank", "1"}, service.address()).out;
  CHECK(trial.find("  chosen    Point 1 of the Sobol sequence.\n  reason    Hyperband, bracket 1") !=
        std::string::npos);
}

TEST_CASE("A hyperparameter that does not exist in a trial is shown as none", "[cli]") {
  FakeService service;
  service.jobs = {SampleJob()};
  service.trials = SampleTrials();
  service.trials[2].mutable_hyperparameters(2)->clear_value();
  CHECK(RunWinnow({"describe", "bank", "3"}, service.address()).out.find("  booster         –\n") !=
        std::string::npos);
  CHECK(RunWinnow({"best", "bank"}, service.address()).out.find("booster") == std::string::npos);
}

}  // namespace winnow
