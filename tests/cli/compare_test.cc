#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/fake_service.h"
#include "tests/cli/process.h"
#include "tests/cli/sample.h"

namespace winnow {
namespace {

using nlohmann::json;

v1::Comparison ComparisonBy(const std::string& by) {
  v1::Comparison comparison;
  comparison.set_by(by);
  comparison.mutable_objective()->set_metric("auc");
  comparison.mutable_objective()->set_goal(v1::MAXIMIZE);
  return comparison;
}

v1::ComparisonRow& Add(v1::Comparison& comparison, const std::string& name, int64_t trials, double elapsed,
                       double node_seconds, bool pareto) {
  v1::ComparisonRow& row = *comparison.add_rows();
  row.set_name(name);
  row.set_trials(trials);
  row.set_elapsed_seconds(elapsed);
  row.set_node_seconds(node_seconds);
  row.set_pareto(pareto);
  return row;
}

}  // namespace

TEST_CASE("compare: jobs side by side, and those that no other one betters are marked", "[cli]") {
  FakeService service;
  service.comparison = ComparisonBy("job");
  Add(service.comparison, "slow", 5, 100, 100, true).set_best(0.8);
  Add(service.comparison, "quick", 5, 40, 120, true).set_best(0.7);
  Add(service.comparison, "worse", 5, 50, 120, false).set_best(0.7);
  const Result result = RunWinnow({"compare", "slow", "quick", "worse"}, service.address());
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(result.out ==
        "JOB    TRIALS  BEST   ELAPSED  NODE-SECONDS  PARETO\n"
        "slow        5   0.8  1 m 40 s         100.0  *\n"
        "quick       5   0.7    40.0 s         120.0  *\n"
        "worse       5   0.7    50.0 s         120.0\n"
        "\nMAXIMIZE auc; *: Pareto front of best, elapsed and node-seconds\n");
  CHECK(service.compare_asked.job_ids_size() == 3);
  CHECK(service.compare_asked.by() == "#job");
}

TEST_CASE("compare: jobs with several objectives by the hypervolumes of their fronts", "[cli]") {
  FakeService service;
  service.comparison.set_by("job");
  for (const auto& [metric, goal] : {std::pair("auc", v1::MAXIMIZE), std::pair("size", v1::MINIMIZE)}) {
    v1::ObjectivesEntry& objective = *service.comparison.add_objectives();
    objective.set_metric(metric);
    objective.set_goal(goal);
  }
  service.comparison.mutable_objectives(0)->set_threshold(0.5);
  for (const auto& [name, volume] : {std::pair("slow", 3.5), std::pair("quick", 2.0)}) {
    v1::ComparisonRow& row = Add(service.comparison, name, 5, 100, 100, volume > 3);
    row.set_hypervolume(volume);
    row.set_front_trials(4);
  }
  CHECK(RunWinnow({"compare", "slow", "quick"}, service.address()).out ==
        "JOB    TRIALS  HYPERVOLUME (FRONT)   ELAPSED  NODE-SECONDS  PARETO\n"
        "slow        5       3.5 (4 trials)  1 m 40 s         100.0  *\n"
        "quick       5         2 (4 trials)  1 m 40 s         100.0\n"
        "\nMAXIMIZE auc, MINIMIZE size; reference point: auc 0.5, size its worst value in all rows with a "
        "margin; *: Pareto front of hypervolume, elapsed and node-seconds\n");
  CHECK(RunWinnow({"compare", "slow", "quick", "-o", "csv"}, service.address()).out ==
        "job,trials,hypervolume,front_trials,elapsed_seconds,node_seconds,pareto\n"
        "slow,5,3.5,4,100.000,100.000,1\n"
        "quick,5,2,4,100.000,100.000,0\n");
}

TEST_CASE("compare: the trials of a job by their number of nodes, means of a trial", "[cli]") {
  FakeService service;
  service.comparison = ComparisonBy("nodes");
  Add(service.comparison, "1", 1, 30, 30, true).set_best(0.8);
  Add(service.comparison, "4", 2, 30, 120, true).set_best(0.8);
  const Result result = RunWinnow({"compare", "bank", "--by-nodes", "-o", "csv"}, service.address());
  INFO(result.err);
  CHECK(result.out ==
        "nodes,trials,best_objective,elapsed_seconds,node_seconds,pareto\n"
        "1,1,0.8,30.000,30.000,1\n"
        "4,2,0.8,15.000,60.000,1\n");
  CHECK(service.compare_asked.by() == "");
}

TEST_CASE("compare: the trials of a job by a hyperparameter", "[cli]") {
  FakeService service;
  service.comparison = ComparisonBy("num_round");
  Add(service.comparison, "9", 2, 30, 30, true).set_best(0.9);
  const json all =
      json::parse(RunWinnow({"compare", "bank", "--by", "num_round", "-o", "json"}, service.address()).out);
  CHECK(all["by"] == "num_round");
  CHECK(all["objective"]["goal"] == "MAXIMIZE");
  REQUIRE(all["rows"].size() == 1);
  CHECK(all["rows"][0]["name"] == "9");
  CHECK(all["rows"][0]["best"] == 0.9);
  CHECK(all["rows"][0]["elapsed_seconds"] == 15);
  service.comparison_refusal =
      grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                   "by: bank has no hyperparameter \"round\"; expected num_round, eta or booster");
  const Result wrong = RunWinnow({"compare", "bank", "--by", "round"}, service.address());
  CHECK(wrong.code == 2);
  CHECK(wrong.err ==
        "winnow: --by: bank has no hyperparameter \"round\"; expected num_round, eta or booster\n");
}

TEST_CASE("compare: what cannot be compared is refused", "[cli]") {
  FakeService service;
  service.comparison_refusal = grpc::Status(
      grpc::StatusCode::INVALID_ARGUMENT,
      "bank has the objective MAXIMIZE auc, other has MINIMIZE auc; expected jobs with the same one");
  const Result different = RunWinnow({"compare", "bank", "other"}, service.address());
  CHECK(different.code == 1);
  CHECK(different.err ==
        "winnow: bank has the objective MAXIMIZE auc, other has MINIMIZE auc; expected jobs with the same "
        "one\n");
  const Result two = RunWinnow({"compare", "bank", "other", "--by-nodes"}, service.address());
  CHECK(two.code == 2);
  CHECK(two.err.find("expected one JOB, not 2") != std::string::npos);
  CHECK(RunWinnow({"compare"}, service.address()).code == 2);
}

TEST_CASE("compare: an unknown job is named, with those that may have been meant", "[cli]") {
  FakeService service;
  service.jobs = {SampleJob()};
  service.comparison_refusal = grpc::Status(grpc::StatusCode::NOT_FOUND, "there is no job \"bnak\"");
  const Result result = RunWinnow({"compare", "bank", "bnak"}, service.address());
  CHECK(result.code == 1);
  CHECK(result.err.find("there is no job \"bnak\". Did you mean bank?") != std::string::npos);
}

TEST_CASE("compare: a job without a value shows none", "[cli]") {
  FakeService service;
  service.comparison = ComparisonBy("job");
  Add(service.comparison, "empty", 5, 1, 1, false);
  const json all = json::parse(RunWinnow({"compare", "empty", "-o", "json"}, service.address()).out);
  CHECK(all["rows"][0]["pareto"] == false);
  CHECK(all["rows"][0].count("best") == 0);
}

}  // namespace winnow
