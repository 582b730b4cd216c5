#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/output/text.h"
#include "tests/catch.h"
#include "tests/cli/fake_service.h"
#include "tests/cli/process.h"
#include "tests/cli/sample.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

using nlohmann::json;

void Fill(FakeService& service) {
  service.jobs = {SampleJob()};
  service.trials = SampleTrials();
}

}  // namespace

TEST_CASE("trials: a line each with its hyperparameters", "[cli]") {
  FakeService service;
  Fill(service);
  const Result result = RunWinnow({"trials", "bank"}, service.address());
  CHECK(result.code == 0);
  CHECK(result.out ==
        "TRIAL  STATE          BEST  AT      LAST  UNITS  TRAINING  num_round       eta  booster\n"
        "    1  PRUNED        0.745   2      0.74      3     2.5 s        150       0.1  gbtree\n"
        "    2  FAILED            –             –      0     1.0 s        100  0.333333  dart\n"
        "    3  COMPLETED  0.781235   9  0.781235      9  1 m 01 s        200      0.25  gbtree\n");
  const json list = json::parse(RunWinnow({"trials", "bank", "-o", "json"}, service.address()).out);
  CHECK(list["trials"][1]["hyperparameters"][1]["continuous"] == 0.3333333333333333);
  CHECK(list["trials"][1].count("objective") == 0);
  CHECK(list["total_size"] == 3);
}

TEST_CASE("trials, analytics: what ranks a trial is shown, not the luckiest of its repeats", "[cli]") {
  FakeService service;
  Fill(service);
  v1::TuningJobSpec& spec = *service.jobs.front().mutable_spec();
  spec.mutable_parameters()->DeleteSubrange(1, 2);
  service.trials.resize(1);
  service.trials[0].set_value(0.7);
  service.trials[0].set_value_resource(3);
  const auto trials = [&] { return RunWinnow({"trials", "bank"}, service.address()).out; };
  const std::string mean =
      "TRIAL  STATE   MEAN  AT  LAST  UNITS  TRAINING  num_round\n"
      "    1  PRUNED   0.7   3  0.74      3     2.5 s        150\n";
  spec.mutable_repeats()->set_seeds(4);
  CHECK(trials() == mean);
  CHECK_THAT(RunWinnow({"analytics", "bank"}, service.address()).out, Catch::Contains("150        0.7  "));
  spec.clear_repeats();
  spec.mutable_objective()->set_value(v1::ObjectiveSpec::MEAN);
  CHECK(trials() == mean);
  spec.mutable_objective()->set_value(v1::ObjectiveSpec::LAST);
  CHECK(trials() ==
        "TRIAL  STATE   LAST  AT  UNITS  TRAINING  num_round\n"
        "    1  PRUNED   0.7   3      3     2.5 s        150\n");
}

TEST_CASE("trials, analytics: several objectives and constraints have a column each", "[cli]") {
  FakeService service;
  Fill(service);
  v1::TuningJobSpec& spec = *service.jobs.front().mutable_spec();
  spec.mutable_parameters()->DeleteSubrange(1, 2);
  spec.clear_objective();
  for (const char* metric : {"auc", "size"}) spec.add_objectives()->set_metric(metric);
  for (const char* metric : {"memory", "size"}) spec.add_metric_constraints()->set_metric(metric);
  const auto read = [](v1::Trial& trial, const char* metric, double value) {
    v1::MetricReading& reading = *trial.add_metrics();
    reading.set_metric(metric);
    reading.set_value(value);
  };
  read(service.trials[0], "auc", 0.74);
  read(service.trials[0], "size", 40);
  read(service.trials[0], "memory", 10.5);
  service.trials[0].set_violation(0.5);
  read(service.trials[2], "auc", 0.78);
  read(service.trials[2], "size", 20);
  service.trials[2].set_violation(std::numeric_limits<double>::infinity());
  CHECK(RunWinnow({"trials", "bank"}, service.address()).out ==
        "TRIAL  STATE       auc  size  memory  VIOLATES BY  UNITS  TRAINING  num_round\n"
        "    1  PRUNED     0.74    40    10.5          0.5      3     2.5 s        150\n"
        "    2  FAILED        –     –       –                   0     1.0 s        100\n"
        "    3  COMPLETED  0.78    20       –     no value      9  1 m 01 s        200\n");
  CHECK_THAT(RunWinnow({"analytics", "bank"}, service.address()).out,
             Catch::Contains("num_round   auc  size  memory  UNITS"));
  const std::string csv = RunWinnow({"analytics", "bank", "-o", "csv"}, service.address()).out;
  CHECK_THAT(csv, Catch::Contains(",tags,note,metric.auc,metric.size,metric.memory,violation\n") &&
                      Catch::Contains(",,,0.74,40,10.5,0.5\n") && Catch::Contains(",,,0.78,20,,inf\n"));
}

TEST_CASE("trials: sorting, states and limit are the server's to do", "[cli]") {
  FakeService service;
  Fill(service);
  const Result result =
      RunWinnow({"trials", "latest", "--sort", "eta desc", "--state", "Completed,failed", "--limit", "2"},
                service.address());
  CHECK(result.code == 0);
  CHECK(service.trials_asked.job_id() == "bank");
  CHECK(service.trials_asked.order_by() == "eta desc");
  CHECK(service.trials_asked.page_size() == 2);
  REQUIRE(service.trials_asked.states_size() == 2);
  CHECK(service.trials_asked.states(0) == v1::Trial::COMPLETED);
  CHECK(result.out.find("2 of 3 trials\n") != std::string::npos);
}

TEST_CASE("trials: an unknown column is answered with those there are", "[cli]") {
  FakeService service;
  Fill(service);
  const Result result = RunWinnow({"trials", "bank", "--sort", "objectiv desc"}, service.address());
  CHECK(result.code == 2);
  CHECK(result.err ==
        "winnow: --sort: there is no column \"objectiv\" (did you mean objective?); expected number, "
        "objective, "
        "resource, training_seconds, num_round, eta or booster\n");
}

TEST_CASE("describe: a trial with attempts and events", "[cli]") {
  FakeService service;
  Fill(service);
  service.trial_details = Text<v1::DescribeTrialResponse>(R"(
    attempts { number: 1 resource_from: 0 resource_to: 3 outcome: "finished"
      ranks { worker: "local-1" } start_time { seconds: 1795248001 } end_time { seconds: 1795248003 } }
    attempts { number: 2 resource_from: 3 resource_to: 0 outcome: "failed" reason: "exit code 1\x1b[2J"
      ranks { worker: "local-1" } ranks { worker: "local-2" }
      start_time { seconds: 1795248004 } end_time { seconds: 1795248070 } }
    events { time { seconds: 1795248001 } text: "Trial 3 is created." })");
  const Result result = RunWinnow({"describe", "bank", "3"}, service.address());
  CHECK(result.code == 0);
  CHECK(result.out ==
        "bank trial 3  COMPLETED\n"
        "  objective 0.781235 at 9 units\n"
        "  bracket   1, rung 2\n"
        "  trained   9 units in 1 m 01 s, 1 m 01 s billable\n"
        "  started   2026-11-21 08:00:01\n"
        "  ended     2026-11-21 08:01:10\n"
        "\n"
        "  HYPERPARAMETER  VALUE\n"
        "  num_round       200\n"
        "  eta             0.25\n"
        "  booster         gbtree\n"
        "\n"
        "  ATTEMPT  UNITS  STARTED       TOOK  WORKERS           OUTCOME\n"
        "        1    0–3  08:00:01     2.0 s  local-1           finished\n"
        "        2  3–end  08:00:04  1 m 06 s  local-1, local-2  failed: exit code 1 [2J\n"
        "\n"
        "  TIME      EVENT\n"
        "  08:00:01  Trial 3 is created.\n");
  const Result stopped = RunWinnow({"describe", "bank", "1"}, service.address());
  CHECK(stopped.out.find("  reason    Hyperband, bracket 1 (s = 1): at 3 units it was 2nd of 3") !=
        std::string::npos);
  CHECK(stopped.out.find("  objective 0.74 at 3 units; best 0.745 at 2 units\n") != std::string::npos);
  const json trial = json::parse(RunWinnow({"describe", "bank", "3", "-o", "json"}, service.address()).out);
  CHECK(trial["attempts"][1]["ranks"][1]["worker"] == "local-2");
}

TEST_CASE("describe: an unknown trial of a known job", "[cli]") {
  FakeService service;
  Fill(service);
  const Result result = RunWinnow({"describe", "bank", "99"}, service.address());
  CHECK(result.code == 1);
  CHECK(result.err == "winnow: job \"bank\" has no trial 99\nSee what there is with: winnow trials bank\n");
}

TEST_CASE("best: the configuration with all its digits", "[cli]") {
  FakeService service;
  Fill(service);
  CHECK(RunWinnow({"best", "bank"}, service.address()).out ==
        "auc 0.781235 (bank, trial 3, at 9 units)\n"
        "\n"
        "  HYPERPARAMETER  VALUE\n"
        "  num_round       200\n"
        "  eta             0.25\n"
        "  booster         gbtree\n");
  CHECK(json::parse(RunWinnow({"best", "bank", "-o", "json"}, service.address()).out)["number"] == 3);
  service.jobs.front().mutable_best()->set_standard_error(0.1 + 0.2);
  CHECK(json::parse(RunWinnow({"best", "bank", "-o", "json"}, service.address()).out)["standard_error"] ==
        0.1 + 0.2);
  service.jobs.front().clear_best();
  const Result none = RunWinnow({"best", "bank"}, service.address());
  CHECK(none.code == 1);
  CHECK(none.err == "winnow: bank has no best trial: none has reported a finite value of auc\n");
}

TEST_CASE("best --front --download: a front that an answer does not hold whole is not passed off as whole",
          "[cli]") {
  FakeService service;
  Fill(service);
  TempFolder folder;
  service.artifact.mutable_manifest()->add_files()->set_path("model.json");
  *service.front.add_trials()->mutable_trial() = service.trials[2];
  service.front.set_total_size(1);
  const auto download = [&](const std::string& name) {
    return RunWinnow({"best", "bank", "--front", "--download", folder.file(name)}, service.address());
  };
  CHECK(download("whole").code == 0);
  service.front.set_total_size(1234);
  const Result part = download("part");
  CHECK(part.code == 1);
  CHECK_THAT(part.out, Catch::Contains("model of trial 3 of bank: 1 file"));
  CHECK(part.err ==
        "winnow: what is on the front and was not downloaded:\n"
        "1,233 of the 1,234 trials of the front: an answer of the server has no more than 1\n");
}

TEST_CASE("best: of several objectives the front with its hypervolume", "[cli]") {
  FakeService service;
  Fill(service);
  v1::TuningJob& job = service.jobs.front();
  job.clear_best();
  job.set_front_trials(2);
  job.mutable_spec()->clear_objective();
  for (const auto& [metric, goal] : {std::pair("auc", v1::MAXIMIZE), std::pair("size", v1::MINIMIZE)}) {
    v1::ObjectivesEntry& objective = *job.mutable_spec()->add_objectives();
    objective.set_metric(metric);
    objective.set_goal(goal);
    v1::FrontObjective& shown = *service.front.add_objectives();
    shown.set_metric(metric);
    shown.set_goal(goal);
    shown.set_reference(goal == v1::MAXIMIZE ? 0.5 : 100);
  }
  service.front.set_hypervolume(20);
  service.front.set_total_size(2);
  service.front.set_infeasible_trials(1);
  for (const auto& [index, auc, size] : {std::tuple(2, 0.78, 40.0), std::tuple(0, 0.74, 20.0)}) {
    v1::FrontTrial& member = *service.front.add_trials();
    *member.mutable_trial() = service.trials[static_cast<size_t>(index)];
    member.add_values(auc);
    member.add_values(size);
    member.set_own_hypervolume(5);
  }
  const std::string expected =
      "bank  Pareto front of 2 trials, hypervolume 20\n"
      "1 ended trial violated metric_constraints\n"
      "\n"
      "  OBJECTIVE  GOAL      BEST  REFERENCE\n"
      "  auc        maximize  0.78        0.5\n"
      "  size       minimize    20        100\n"
      "\n"
      "  TRIAL   auc  size  OWN PART  num_round   eta  booster\n"
      "      3  0.78    40      25 %        200  0.25  gbtree\n"
      "      1  0.74    20      25 %        150   0.1  gbtree\n";
  CHECK(RunWinnow({"best", "bank", "--front"}, service.address()).out == expected);
  CHECK(RunWinnow({"best", "bank"}, service.address()).out == expected);
  const json front = json::parse(RunWinnow({"best", "bank", "--front", "-o", "json"}, service.address()).out);
  CHECK(front["trials"][1]["values"][1] == 20);
  CHECK(front["hypervolume"] == 20);
  CHECK_THAT(RunWinnow({"describe", "bank"}, service.address()).out,
             Catch::Contains("best      a Pareto front of 2 trials") &&
                 Catch::Contains("maximize auc, minimize size"));
  const Result download = RunWinnow({"best", "bank", "--download", "model"}, service.address());
  CHECK(download.code == 2);
  CHECK_THAT(download.err, Catch::Contains("--trial: is missing; bank has several objectives"));
  const Result here = RunWinnow({"best", "bank", "--download", "."}, service.address());
  CHECK(here.code == 1);
  CHECK_THAT(here.err, Catch::Contains(". is the working directory, which cannot be replaced"));
}

TEST_CASE("best: where no trial satisfies the constraints, it says so", "[cli]") {
  FakeService service;
  Fill(service);
  service.jobs.front().clear_best();
  v1::MetricConstraint& constraint = *service.jobs.front().mutable_spec()->add_metric_constraints();
  constraint.set_metric("memory");
  constraint.set_at_most(10);
  const v1::TrialCounts counts = service.jobs.front().trial_counts();
  service.jobs.front().mutable_trial_counts()->Clear();
  service.jobs.front().mutable_trial_counts()->set_failed(3);
  CHECK(RunWinnow({"best", "bank"}, service.address()).err ==
        "winnow: bank has no best trial: all its trials failed\n");
  *service.jobs.front().mutable_trial_counts() = counts;
  CHECK(RunWinnow({"best", "bank"}, service.address()).err ==
        "winnow: bank has no best trial: none satisfies metric_constraints\n");
  service.trials[0].set_violation(0.5);
  v1::MetricReading& reading = *service.trials[0].add_metrics();
  reading.set_metric("memory");
  reading.set_value(10.5);
  CHECK_THAT(RunWinnow({"describe", "bank", "1"}, service.address()).out,
             Catch::Contains("memory = 10.5\n") &&
                 Catch::Contains("violates  metric_constraints: memory = 10.5, expected at most 10\n"));
  *service.table.add_trials() = service.trials[0];
  CHECK(RunWinnow({"best", "bank"}, service.address()).err ==
        "winnow: bank has no best trial: none satisfies metric_constraints. The nearest is trial 1: memory = "
        "10.5, "
        "expected at most 10\n");
  CHECK(service.table_asked.order_by() == "violation");
  service.metrics =
      Text<v1::QueryMetricsResponse>("points { trial: 1 metric: 'auc' resource: 1 value: 0.5 }");
  CHECK_THAT(
      RunWinnow({"watch", "bank"}, service.address()).out,
      Catch::Contains("none: no trial satisfies metric_constraints. The nearest is trial 1: memory = 10.5"));
  service.trials[0].set_violation(std::numeric_limits<double>::infinity());
  service.trials[0].clear_metrics();
  CHECK_THAT(RunWinnow({"describe", "bank", "1"}, service.address()).out,
             Catch::Contains("violates  metric_constraints: memory has no value\n"));
}

TEST_CASE("analytics: CSV has a row per trial", "[cli]") {
  FakeService service;
  Fill(service);
  service.trials[1].mutable_annotation()->add_tags("baseline");
  service.trials[1].mutable_annotation()->add_tags("slow");
  service.trials[1].mutable_annotation()->set_note("odd, but kept");
  const Result result = RunWinnow({"analytics", "bank", "--output", "csv"}, service.address());
  CHECK(result.code == 0);
  CHECK(
      result.out ==
      "trial,state,num_round,eta,booster,objective,best_objective,best_resource,value,value_resource,"
      "resource,start_time,end_time,"
      "elapsed_seconds,"
      "billable_seconds,stop_reason,tags,note\n"
      "1,PRUNED,150,0.1,gbtree,0.74,0.745,2,,,3,2026-11-21T08:00:01.000Z,2026-11-21T08:00:03.500Z,2.500,2."
      "500,"
      "\"Hyperband, bracket 1 (s = 1): at 3 units it was 2nd of 3, 0.74 against the cut-off 0.75\",,\n"
      "2,FAILED,100,0.3333333333333333,dart,,,,,,0,2026-11-21T08:00:01.000Z,2026-11-21T08:00:02.000Z,1.000,1."
      "000,"
      "\"exit code 1: cannot read \"\"a,b\"\"\nat line 3\",baseline slow,\"odd, but kept\"\n"
      "3,COMPLETED,200,0.25,gbtree,0.78123456,0.78123456,9,,,9,2026-11-21T08:00:01.000Z,2026-11-21T08:01:10."
      "000Z,69.000,61."
      "000,,,\n");
}

TEST_CASE("analytics: a list of several pages is printed as one, in every format", "[cli]") {
  FakeService service;
  Fill(service);
  for (const char* format : {"csv", "jsonl", "json", "text"}) {
    INFO(format);
    const auto run = [&](int page) {
      service.analytics_page = page;
      return RunWinnow({"analytics", "bank", "--output", format}, service.address()).out;
    };
    const std::string whole = run(1000);
    CHECK(whole.find("COMPLETED") != std::string::npos);
    CHECK(run(1) == whole);
  }
}

// Trials of a space where momentum exists with sgd alone, and beta2 with adam alone.
void FillConditional(FakeService& service) {
  v1::TuningJob job = SampleJob();
  job.mutable_spec()->clear_parameters();
  for (const char* name : {"optimizer", "momentum", "beta2", "layers"})
    job.mutable_spec()->add_parameters()->set_name(name);
  service.jobs = {job};
  service.trials = {
      Text<v1::Trial>(
          R"(job_id: "bank" number: 1 state: COMPLETED objective: 0.5 resource: 9 trained_resource: 9
    value: 0.25 value_resource: 3
    hyperparameters { name: "optimizer" categorical: "sgd" } hyperparameters { name: "momentum" continuous: 0.9 }
    hyperparameters { name: "layers" integer: 2 })"),
      Text<v1::Trial>(R"(job_id: "bank" number: 2 state: CANCELLED
    hyperparameters { name: "optimizer" categorical: "=adam" } hyperparameters { name: "momentum" }
    hyperparameters { name: "beta2" continuous: 0.99989 } hyperparameters { name: "layers" integer: 88 })")};
}

TEST_CASE("trials, analytics: each value stands in the column of its name where others do not exist",
          "[cli]") {
  FakeService service;
  FillConditional(service);
  CHECK(RunWinnow({"trials", "bank"}, service.address()).out ==
        "TRIAL  STATE      BEST  AT  LAST  UNITS  TRAINING  optimizer  momentum    beta2  layers\n"
        "    1  COMPLETED     –       0.5      9    0.00 s        sgd       0.9                2\n"
        "    2  CANCELLED     –         –      0    0.00 s      =adam            0.99989      88\n");
  const std::string csv =
      "trial,state,optimizer,momentum,beta2,layers,objective,best_objective,best_resource,value,value_"
      "resource,resource,"
      "start_time,end_time,elapsed_seconds,billable_seconds,stop_reason,tags,note\n"
      "1,COMPLETED,sgd,0.9,,2,0.5,,,0.25,3,9,,,,0.000,,,\n"
      "2,CANCELLED,'=adam,,0.99989,88,,,,,,0,,,,0.000,,,\n";
  CHECK(RunWinnow({"analytics", "bank", "-o", "csv"}, service.address()).out == csv);
  CHECK(RunWinnow({"trials", "bank", "-o", "csv"}, service.address()).out == csv);
  const std::string text = RunWinnow({"analytics", "bank"}, service.address()).out;
  INFO(text);
  CHECK(text.find("    2  CANCELLED      =adam            0.99989      88          –") != std::string::npos);
}

TEST_CASE("trials, analytics: a narrow terminal shows what fits, and says what does not and how to see it",
          "[cli]") {
  FakeService service;
  Fill(service);
  service.workers =
      Text<v1::ListWorkersResponse>(R"(workers { name: "one" host: "host.example.org" state: LIVE slots: 4
    cpus: 8 memory_gib: 16 limits: "cgroup v2" version: "0.1.0" last_sync_time { seconds: 1795248001 } })");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"trials", "bank"}, {"analytics", "bank"}, {"list"}, {"workers"}}) {
    Process process(command, service.address(), Process::Io::kNarrowTerminal);
    CHECK(process.Wait() == 0);
    INFO(process.out());
    std::istringstream lines(process.out());
    // and "\r" on a terminal
    for (std::string line; std::getline(lines, line);) CHECK(cli::DisplayWidth(line) <= 61);
    CHECK(process.out().find("Not shown: ") != std::string::npos);
    CHECK(process.out().find("--output") != std::string::npos);
  }
  Process trials({"trials", "bank", "--no-color"}, service.address(), Process::Io::kNarrowTerminal);
  CHECK(trials.Wait() == 0);
  INFO(trials.out());
  CHECK(trials.out().rfind("TRIAL  STATE          BEST  num_round       eta  booster\r\n", 0) == 0);
  CHECK(trials.out().find("Not shown: AT, LAST, UNITS, TRAINING. For all columns:") != std::string::npos);
}

TEST_CASE("analytics: a hyperparameter may not take a column's name", "[cli]") {
  FakeService service;
  Fill(service);
  service.jobs.front().mutable_spec()->mutable_parameters(1)->set_name("state");
  CHECK(RunWinnow({"analytics", "bank", "-o", "csv"}, service.address())
            .out.rfind("trial,state,num_round,hyperparameter.state,booster,", 0) == 0);
}

TEST_CASE("analytics: text ends with the job's totals, and JSON holds them", "[cli]") {
  FakeService service;
  Fill(service);
  const Result result = RunWinnow({"analytics", "bank"}, service.address());
  CHECK(result.out.find("    3  COMPLETED        200      0.25  gbtree    0.781235      9  08:00:01  "
                        "08:01:10  1 m 09 s  1 m 01 s\n") != std::string::npos);
  CHECK(result.out.find("\n3 trials: 2 completed, 1 pruned, 1 cancelled, 1 failed\n"
                        "trained 1,234 units of 1,500 planned; 1 m 12 s elapsed, 4 m 01 s "
                        "training, 4 m 01 s billable\n") != std::string::npos);
  const json answer = json::parse(RunWinnow({"analytics", "bank", "-o", "json"}, service.address()).out);
  CHECK(answer["job"]["spend"]["resource"] == 1234);
  CHECK(answer["trials"].size() == 3);
}

TEST_CASE("metrics: curves as table, CSV and JSON", "[cli]") {
  FakeService service;
  Fill(service);
  CHECK(RunWinnow({"metrics", "bank"}, service.address()).out == "No such values were reported\n");
  service.metrics = Text<v1::QueryMetricsResponse>(R"(
    points { trial: 1 metric: "auc" resource: 1 value: 0.7 attempt: 1 time { seconds: 1795248001 } }
    points { trial: 1 metric: "auc" resource: 2 value: 0.745 attempt: 1 time { seconds: 1795248002 } }
    points { trial: 1 metric: "loss" resource: 2 value: nan attempt: 1 time { seconds: 1795248002 } })");
  CHECK(RunWinnow({"metrics", "bank", "--trial", "1,3", "--metric", "auc,loss"}, service.address()).out ==
        "TRIAL  UNITS    auc  loss\n"
        "    1      1    0.7\n"
        "           2  0.745   nan\n");
  CHECK(service.metrics_asked.trials_size() == 2);
  CHECK(service.metrics_asked.metrics(1) == "loss");
  CHECK(RunWinnow({"metrics", "bank", "-o", "csv"}, service.address()).out ==
        "trial,metric,resource,value,attempt,time\n"
        "1,auc,1,0.7,1,2026-11-21T08:00:01.000Z\n"
        "1,auc,2,0.745,1,2026-11-21T08:00:02.000Z\n"
        "1,loss,2,nan,1,2026-11-21T08:00:02.000Z\n");
  const json answer = json::parse(RunWinnow({"metrics", "bank", "-o", "json"}, service.address()).out);
  CHECK(answer["points"][2]["value"] == "NaN");
  const Result unknown = RunWinnow({"metrics", "bank", "--trial", "1,9"}, service.address());
  CHECK(unknown.code == 1);
  CHECK(unknown.out.empty());
  CHECK(unknown.err == "winnow: job \"bank\" has no trial 9\nSee what there is with: winnow trials bank\n");
}

TEST_CASE("logs: every byte, in as many answers as it takes", "[cli]") {
  FakeService service;
  Fill(service);
  service.log = "first\n" + std::string("\0\xff", 2) + "\nlast line";
  service.log_chunk = 4;
  const Result result = RunWinnow({"logs", "bank", "3", "--stderr", "--rank", "1"}, service.address());
  CHECK(result.code == 0);
  CHECK(result.out == service.log);
  CHECK(service.logs_asked.stream() == v1::GetLogsRequest::STDERR);
  CHECK(service.logs_asked.rank() == 1);
  CHECK(service.logs_asked.attempt() == 2);
  const Result followed = RunWinnow({"logs", "latest", "3", "-f"}, service.address());
  CHECK(followed.out == service.log);
  CHECK(service.logs_asked.wait().seconds() == 20);
}

TEST_CASE("logs: only the last lines, and what follows them", "[cli]") {
  FakeService service;
  Fill(service);
  service.log_chunk = 4;
  const auto tail = [&](const std::string& count) {
    const Result result = RunWinnow({"logs", "bank", "3", "--tail", count}, service.address());
    CHECK(result.code == 0);
    return result.out;
  };
  service.log = "first\n\nthird\n";
  CHECK(tail("0").empty());
  CHECK(tail("1") == "third\n");
  CHECK(tail("2") == "\nthird\n");
  CHECK(tail("3") == "first\n\nthird\n");
  CHECK(tail("100") == "first\n\nthird\n");
  service.log = "\n";
  CHECK(tail("1") == "\n");
  service.log = "first\nno line end";
  CHECK(tail("1") == "no line end");
  CHECK(RunWinnow({"logs", "bank", "3", "-n", "-1"}, service.address()).code == 2);
  service.log = "50 %\r100 %\r\nend\n";
  Process clean({"logs", "bank", "3", "-n", "2"}, service.address(), Process::Io::kTerminal);
  CHECK(clean.Wait() == 0);
  CHECK(clean.out() == "100 %\r\nend\r\n");

  service.log = "first\nsecond\n";
  service.log_grows = true;
  Process process({"logs", "bank", "3", "-f", "-n", "1"}, service.address());
  REQUIRE(process.ReadUntil("second\n"));
  service.Stop();
  service.log += "third\nfourth\n";
  service.log_grows = false;
  service.Start();
  CHECK(process.Wait() == 0);
  CHECK(process.out() == "second\nthird\nfourth\n");
}

TEST_CASE("logs: a long output of which the end has come is not called too long", "[cli]") {
  FakeService service;
  Fill(service);
  service.log_chunk = 4;
  service.log = "all of it\n";
  service.log_is_long = true;
  const Result result = RunWinnow({"logs", "bank", "3"}, service.address());
  CHECK(result.out == service.log);
  CHECK(result.err.empty());
}

TEST_CASE("logs: where all is on standard error, that is said", "[cli]") {
  FakeService service;
  Fill(service);
  service.error_log = "INFO epoch 1 loss=0.5\n";
  const Result result = RunWinnow({"logs", "bank", "3", "--rank", "1"}, service.address());
  CHECK(result.code == 0);
  CHECK(result.out.empty());
  CHECK(result.err ==
        "winnow: it wrote to standard error only. See that with: winnow logs bank 3 --rank 1 --stderr\n");
  CHECK(RunWinnow({"logs", "bank", "3", "--stderr"}, service.address()).out == *service.error_log);
  service.error_log = "";
  CHECK(RunWinnow({"logs", "bank", "3"}, service.address()).err.empty());
}

TEST_CASE("logs: a terminal gets no escape sequences, unless asked for, and a pipe gets every byte",
          "[cli]") {
  FakeService service;
  Fill(service);
  service.log = "\x1b[31mred\x1b[0m \x1b]0;title\x07ü\n50 %\r100 %\r\n\x1b[2J\tend\x9b\n";
  for (const size_t chunk : {size_t{1}, size_t{3}, size_t{1} << 20}) {
    service.log_chunk = chunk;
    Process process({"logs", "bank", "3"}, service.address(), Process::Io::kTerminal);
    CHECK(process.Wait() == 0);
    CHECK(process.out() == "red 0;title ü\r\n50 %\r\n100 %\r\n\tend\uFFFD\r\n");
  }
  Process raw({"logs", "bank", "3", "--raw"}, service.address(), Process::Io::kTerminal);
  CHECK(raw.Wait() == 0);
  CHECK(raw.out().find("\x1b[31mred\x1b[0m") != std::string::npos);
  CHECK(RunWinnow({"logs", "bank", "3"}, service.address()).out == service.log);
}

TEST_CASE("logs: a restart of the server is mentioned once, and no byte is missed or repeated", "[cli]") {
  FakeService service;
  Fill(service);
  service.log = "first\n";
  service.log_grows = true;
  Process process({"logs", "bank", "3", "-f"}, service.address());
  REQUIRE(process.ReadUntil("first\n"));
  service.Stop();
  service.log += "second\n";
  service.log_grows = false;
  service.Start();
  CHECK(process.Wait() == 0);
  CHECK(process.out() == "first\nsecond\n");
  CHECK(process.err() == "winnow: The server at " + service.address() +
                             " is away. Waiting for it…\nwinnow: the server is back\n");
  service.Stop();
  CHECK(RunWinnow({"logs", "bank", "3", "-f"}, service.address()).code == 1);
}

}  // namespace winnow
