#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "spec/hidden_value.h"
#include "tests/catch.h"
#include "tests/cli/fake_service.h"
#include "tests/cli/process.h"
#include "tests/cli/sample.h"

namespace winnow {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr char kNowhere[] = "127.0.0.1:1";

// A folder that is gone afterwards.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "winnow-cli-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path_); }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("submit: sends the file, its folder and a fresh request id", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  const Folder folder;
  const std::string file = folder.Write("job.json", SampleFile());
  const Result result = RunWinnow({"submit", file}, service.address());
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(result.out ==
        "bank-2 is running: HYPERBAND, R = 9, eta = 3, maximize auc, 5 trials planned, 1,500 units\n"
        "Watch it with: winnow watch bank-2\n");
  CHECK(service.created.spec().name() == "bank");
  CHECK(service.created.spec().working_directory() == folder.path());
  CHECK(service.created.request_id().size() == 32);
  CHECK(service.created.project().empty());
  CHECK(result.err.empty());
  const std::string first = service.created.request_id();
  CHECK(RunWinnow({"submit", file}, service.address()).code == 0);
  CHECK(service.created.request_id() != first);
}

TEST_CASE("submit: warns where no earlier result can be used", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  service.jobs[0].set_warm_start_text("No result used; 3 left out: 3 without a value of rate.");
  const Folder folder;
  const Result result = RunWinnow({"submit", folder.Write("job.json", SampleFile())}, service.address());
  CHECK(result.err ==
        "winnow: warning: warm_start: No result used; 3 left out: 3 without a value of rate.\n");
  service.jobs[0].set_warm_start_text("3 results used: 3 from bank.");
  CHECK(RunWinnow({"submit", folder.Write("job.json", SampleFile())}, service.address()).err.empty());
}

TEST_CASE("submit: a relative path, a name, a request id and JSON", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  const Folder folder;
  folder.Write("job.json", SampleFile());
  Process process({"submit", "job.json", "--name", "other", "--request-id", "r1", "-o", "json"},
                  service.address(), Process::Io::kPipes, {}, "", folder.path());
  CHECK(process.Wait() == 0);
  CHECK(json::parse(process.out())["id"] == "bank-2");
  CHECK(service.created.spec().name() == "other");
  CHECK(service.created.spec().working_directory() == folder.path());
  CHECK(service.created.request_id() == "r1");
}

TEST_CASE("submit --like: the settings of an ended job, its results, and the next seed", "[cli]") {
  FakeService service;
  service.jobs = {SampleJob(), RunningJob()};
  v1::TuningJobSpec& spec = *service.jobs[0].mutable_spec();
  spec.set_seed(41);
  spec.set_working_directory("/somewhere");
  spec.mutable_warm_start()->add_jobs("earlier");
  spec.mutable_limits()->set_max_trial_resource(9);
  spec.add_initial_configurations();
  const Result result =
      RunWinnow({"submit", "--like", "bank", "--max-trials", "20", "--name", "more"}, service.address());
  INFO(result.err);
  CHECK(result.code == 0);
  v1::TuningJobSpec expected = service.jobs[0].spec();
  expected.set_name("more");
  expected.set_seed(42);
  expected.mutable_warm_start()->set_jobs(0, "bank");
  expected.clear_initial_configurations();
  expected.mutable_limits()->set_max_trials(20);
  CHECK(service.created.spec().DebugString() == expected.DebugString());
}

TEST_CASE("submit --like: ranges, limits and a priority as they were at the job's end", "[cli]") {
  FakeService service;
  service.jobs = {SampleJob()};
  v1::TuningJob& job = service.jobs[0];
  v1::TuningJobSpec& spec = *job.mutable_spec();
  spec.mutable_limits()->set_max_attempts(2);
  spec.mutable_limits()->mutable_max_wall_time()->set_seconds(60);
  spec.mutable_parameters(1)->mutable_prior()->set_value("0.9");
  v1::ParameterSpec& conditional = *spec.add_parameters();
  conditional.set_name("rate_drop");
  conditional.mutable_continuous()->set_max(0.5);
  conditional.mutable_condition()->set_parameter("booster");
  for (const char* value : {"dart", "gbtree"}) conditional.mutable_condition()->add_values(value);
  *job.mutable_parameters() = spec.parameters();
  for (v1::ParameterSpec& now : *job.mutable_parameters()) {
    now.clear_prior();
    now.clear_condition();
  }
  job.mutable_parameters(1)->mutable_continuous()->set_max(0.3);
  job.mutable_parameters(2)->mutable_categorical()->mutable_values()->DeleteSubrange(0, 1);
  job.mutable_limits()->set_max_trials(40);
  job.mutable_limits()->set_max_wall_seconds(90);
  job.mutable_scheduling()->set_priority(5);
  const Result result = RunWinnow({"submit", "--like", "bank"}, service.address());
  INFO(result.err);
  CHECK(result.code == 0);
  const v1::TuningJobSpec& created = service.created.spec();
  CHECK(created.parameters(1).continuous().max() == 0.3);
  CHECK(!created.parameters(1).has_prior());
  CHECK(created.parameters(2).categorical().values_size() == 1);
  CHECK(created.parameters(2).categorical().values(0) == "dart");
  CHECK(created.parameters(3).condition().parameter() == "booster");
  CHECK(created.parameters(3).condition().values_size() == 1);
  CHECK(created.limits().max_trials() == 40);
  CHECK(created.limits().max_attempts() == 2);
  CHECK(created.limits().max_wall_time().seconds() == 90);
  CHECK(created.scheduling().priority() == 5);
}

TEST_CASE("submit --like: hyperparameters whose every condition was dropped are left out", "[cli]") {
  FakeService service;
  service.jobs = {SampleJob()};
  v1::TuningJob& job = service.jobs[0];
  v1::TuningJobSpec& spec = *job.mutable_spec();
  for (const char* argument : {"--eta={{eta}}", "--drop", "{{rate_drop}}", "skip={{skip_drop}}"})
    spec.mutable_trainer()->add_command(argument);
  for (const char* name : {"rate_drop", "skip_drop"}) {
    v1::ParameterSpec& conditional = *spec.add_parameters();
    conditional.set_name(name);
    conditional.mutable_integer()->set_max(5);
  }
  v1::Condition& of_booster = *spec.mutable_parameters(3)->mutable_condition();
  of_booster.set_parameter("booster");
  of_booster.add_values("dart");
  v1::Condition& of_rate = *spec.mutable_parameters(4)->mutable_condition();
  of_rate.set_parameter("rate_drop");
  of_rate.add_values("3");
  for (const char* name : {"rate_drop", "eta"}) {
    v1::LinearConstraint& constraint = *spec.add_constraints();
    (*constraint.mutable_coefficients())[name] = 1;
    constraint.set_max(4);
  }
  *job.mutable_parameters() = spec.parameters();
  for (v1::ParameterSpec& now : *job.mutable_parameters()) now.clear_condition();
  auto& boosters = *job.mutable_parameters(2)->mutable_categorical()->mutable_values();
  boosters.erase(std::remove(boosters.begin(), boosters.end(), "dart"), boosters.end());
  const Result result = RunWinnow({"submit", "--like", "bank"}, service.address());
  INFO(result.err);
  CHECK(result.code == 0);
  const v1::TuningJobSpec& created = service.created.spec();
  REQUIRE(created.parameters_size() == 3);
  CHECK(created.parameters(2).name() == "booster");
  REQUIRE(created.constraints_size() == 1);
  CHECK(created.constraints(0).coefficients().count("eta") == 1);
  CHECK(std::vector<std::string>(created.trainer().command().begin(), created.trainer().command().end()) ==
        std::vector<std::string>{"/bin/true", "--eta={{eta}}"});
}

TEST_CASE(
    "submit: into the project of the flag, else of the environment, else of the job that it goes on from",
    "[cli]") {
  FakeService service;
  service.jobs = {SampleJob(), RunningJob()};
  service.jobs[0].set_id("bank@vision");
  const Folder folder;
  const std::string file = folder.Write("job.json", SampleFile());
  const auto project = [&](std::vector<std::string> words, const std::vector<std::string>& environment = {}) {
    words.insert(words.begin(), "submit");
    Process process(words, service.address(), Process::Io::kPipes, environment);
    CHECK(process.Wait() == 0);
    INFO(process.err());
    return service.created.project();
  };
  CHECK(project({file, "--project", "speech"}) == "speech");
  CHECK(project({file}, {"WINNOW_PROJECT=vision"}) == "vision");
  CHECK(project({file, "--project", "default"}, {"WINNOW_PROJECT=vision"}) == "default");
  CHECK(project({"--like", "bank@vision"}) == "vision");
  CHECK(project({"--like", "latest"}) == "vision");
  CHECK(project({file}).empty());
}

TEST_CASE("submit --like: what cannot be gone on from is refused, and nothing is sent", "[cli]") {
  FakeService service;
  service.jobs = {SampleJob(), RunningJob()};
  const auto refused = [&](const std::vector<std::string>& arguments, int code, const std::string& why) {
    const Result result = RunWinnow(arguments, service.address());
    INFO(result.err);
    CHECK(result.code == code);
    CHECK(result.err.find(why) != std::string::npos);
    CHECK(service.created.spec().name().empty());
  };
  refused({"submit", "--like", "bank-2"}, 1, "bank-2 is still running; expected a job that has ended");
  refused({"submit", "--like", "none"}, 1, "there is no job \"none\"");
  refused({"submit", "--like", "bank", "job.json"}, 2,
          "--like: not with a job file; expected one of the two");
  refused({"submit"}, 2, "FILE: is missing; expected a job file, or --like JOB");
  (*service.jobs[0].mutable_spec()->mutable_trainer()->mutable_environment())["KEY"] = kHiddenValue;
  refused({"submit", "--like", "bank"}, 1, "shown to its owner only: KEY");
  service.jobs[0].mutable_spec()->mutable_trainer()->clear_environment();
  service.jobs[0].mutable_spec()->add_objectives();
  service.jobs[0].mutable_spec()->add_objectives();
  refused({"submit", "--like", "bank"}, 1, "bank has several objectives or bounds on metrics");
}

TEST_CASE("submit: standard input belongs to the current folder", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  const Folder folder;
  Process process({"submit", "-"}, service.address(), Process::Io::kPipes, {}, SampleFile(), folder.path());
  CHECK(process.Wait() == 0);
  CHECK(service.created.spec().working_directory() == folder.path());
}

TEST_CASE("submit: one error lists everything wrong with the file, before anything is sent", "[cli]") {
  const Folder folder;
  json job = json::parse(SampleFile());
  job["objctive"] = 1;
  job["parameters"][0]["continuous"] = {{"min", 5}, {"max", 1}};
  job["limits"]["max_trials"] = "many";
  job["hyperband"]["reduction_factor"] = 1;
  const Result result = RunWinnow({"submit", folder.Write("job.json", job.dump())}, kNowhere);
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK(result.err.rfind("winnow: " + folder.path() + "/job.json has 4 problems; nothing was sent:\n", 0) ==
        0);
  for (const std::string field : {"\n  objctive: ", "\n  parameters[0].continuous",
                                  "\n  limits.max_trials: ", "\n  hyperband.reduction_factor: "}) {
    INFO(field);
    CHECK(result.err.find(field) != std::string::npos);
  }
}

TEST_CASE("submit: files that cannot be job files", "[cli]") {
  const Folder folder;
  struct Case {
    std::string file;
    std::string told;
  };
  const std::vector<Case> cases = {
      {folder.path() + "/none.json",
       "cannot open the job file " + folder.path() + "/none.json: No such file"},
      {folder.path(), folder.path() + " is a directory; expected a job file"},
      {folder.Write("empty.json", ""), "empty.json has 1 problem"},
      {folder.Write("broken.json", "{\n  \"name\": \"x\",,\n}"), "line 2"},
      {folder.Write("list.json", "[1]"), "list.json has"},
      {folder.Write("binary.json", std::string("\x7f"
                                               "ELF\0\0\xff",
                                               7)),
       "binary.json has"},
      {folder.Write("long.json", std::string(9 << 20, ' ')), "longer than 8 MiB"},
  };
  for (const Case& wrong : cases) {
    const Result result = RunWinnow({"submit", wrong.file}, kNowhere);
    INFO(result.err);
    CHECK(result.code == 1);
    CHECK(result.err.find(wrong.told) != std::string::npos);
  }
  CHECK(RunWinnow({"submit", folder.Write("job.json", SampleFile()), "--name", "latest"}, kNowhere)
            .err.find("\n  name: \"latest\" means the newest job") != std::string::npos);
}

TEST_CASE("submit: the server's findings are printed in the same form", "[cli]") {
  FakeService service;
  const auto bad = Text<v1::BadRequest>(R"(
    violations { field: "channels[train].path" description: "/none.csv does not exist" }
    violations { field: "cluster.nodes" description: "3, but all workers together have 2 slots" })");
  service.refusal = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "2 violations", bad.SerializeAsString());
  const Folder folder;
  const Result result = RunWinnow({"submit", folder.Write("job.json", SampleFile())}, service.address());
  CHECK(result.code == 1);
  CHECK(result.err ==
        "winnow: the server refused it:\n"
        "  channels[train].path: /none.csv does not exist\n"
        "  cluster.nodes: 3, but all workers together have 2 slots\n");
}

TEST_CASE("submit: after a lost answer the same request id may be used again", "[cli]") {
  FakeService service;
  const Folder folder;
  const std::string file = folder.Write("job.json", SampleFile());
  const std::lock_guard held(service.mutex);  // so no call is answered
  const Result result =
      RunWinnow({"submit", file, "--timeout", "0.2", "--request-id", "mine"}, service.address());
  CHECK(result.code == 1);
  CHECK(result.err.find("add --request-id mine") != std::string::npos);
}

TEST_CASE("submit: a connection that breaks is a lost answer too, one that was never there is not", "[cli]") {
  FakeService service;
  service.refusal = grpc::Status(grpc::StatusCode::UNAVAILABLE, "Socket closed");
  const Folder folder;
  const std::string file = folder.Write("job.json", SampleFile());
  const Result broken = RunWinnow({"submit", file, "--request-id", "mine"}, service.address());
  CHECK(broken.code == 1);
  CHECK(broken.err.find("may have been created anyway") != std::string::npos);
  CHECK(broken.err.find("add --request-id mine") != std::string::npos);
  const Result nowhere = RunWinnow({"submit", file, "--request-id", "mine"}, kNowhere);
  CHECK(nowhere.code == 1);
  CHECK(nowhere.err.find("cannot reach winnow-server") != std::string::npos);
  CHECK(nowhere.err.find("--request-id") == std::string::npos);
}

TEST_CASE("plan: every bracket and rung of R = 81, eta = 3, without a server", "[cli]") {
  const Folder folder;
  const std::string file = folder.Write("job.json", SampleFile());
  const Result result = RunWinnow({"plan", file}, kNowhere);
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(result.out ==
        "bank  HYPERBAND, R = 81, eta = 3, maximize auc\n"
        "\n"
        "  BRACKET   RUNG 1  RUNG 2  RUNG 3  RUNG 4  RUNG 5  UNITS\n"
        "  1: s = 4  81 × 1  27 × 3   9 × 9  3 × 27  1 × 81    297\n"
        "  2: s = 3  34 × 3  11 × 9  3 × 27  1 × 81            276\n"
        "  3: s = 2  15 × 9  5 × 27  1 × 81                    279\n"
        "  4: s = 1  8 × 27  2 × 81                            324\n"
        "  5: s = 0  5 × 81                                    405\n"
        "  trials × the units each of them has been trained for\n"
        "\n"
        "  brackets        5 (81/34/15/8/5 trials)\n"
        "  configurations  143\n"
        "  evaluations     206 (a trial counts once per rung)\n"
        "  resource        1,581 units\n"
        "  without resume  1,902 units\n"
        "  all to the end  11,583 units; the plan saves 86 %\n");
  const json plan = json::parse(RunWinnow({"plan", file, "--output", "json"}, kNowhere).out);
  CHECK(plan["trials"] == 143);
  CHECK(plan["resource"] == 1581);
  CHECK(plan["brackets"][1]["rungs"][0]["trials"] == 34);
}

TEST_CASE("plan: population based training ends no trial early, so nothing is said to be saved", "[cli]") {
  json job = json::parse(SampleFile());
  job["trainer"]["resumes"] = true;
  job.erase("hyperband");
  job["strategy"] = "PBT";
  job["pruner"] = {{"max_resource", 20}};
  job["limits"] = {{"max_trials", 40}};
  const Result result = RunWinnow({"plan", "-"}, kNowhere, job.dump());
  INFO(result.err << result.out);
  CHECK(result.code == 0);
  CHECK(result.out.find("  resource        400 units\n") != std::string::npos);
  CHECK(result.out.find("saves") == std::string::npos);
}

TEST_CASE("plan: a job without brackets", "[cli]") {
  const Folder folder;
  json job = json::parse(SampleFile());
  job["strategy"] = "RANDOM";
  job.erase("hyperband");
  job["limits"] = {{"max_trials", 7}, {"max_trial_resource", 20}};
  const Result result = RunWinnow({"plan", "-"}, kNowhere, job.dump());
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(result.out.rfind("bank  RANDOM, maximize auc\n\n  configurations  7\n", 0) == 0);
}

}  // namespace winnow
