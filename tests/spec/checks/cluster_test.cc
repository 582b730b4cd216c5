#include "spec/checks/cluster.h"

#include "spec/cluster.h"
#include "spec/job_file.h"
#include "spec/launch.h"
#include "spec/search_spec.h"
#include "tests/catch.h"
#include "tests/spec/job_files.h"
#include "tests/spec/malformed.h"

namespace winnow {
namespace {

// The job of a command whose clusters are as wide as a hyperparameter says.
std::string WidthJob(const std::string& range, const std::string& cluster = R"("nodes_parameter": "ranks")") {
  return CommandJob(R"("parameters": [)",
                    R"("cluster": {)" + cluster + R"(}, "parameters": [{"name": "ranks", )" + range + "}, ");
}

std::string ClusterJob(const std::string& cluster) {
  return BuiltinJob(R"("cluster": {"nodes": 1})", R"("cluster": {)" + cluster + "}");
}

SearchSpec SearchOf(const std::string& job) { return ToSearchSpec(ParseJobFile(job).spec); }

TEST_CASE("Cluster: what ranks ask for, with defaults", "[spec]") {
  CHECK(ShapeOf(ParseJobFile(BuiltinJob()).spec) == RankShape{1, 0, 0, {}});
  const std::string job = ClusterJob(
      R"("nodes": 3, "slots": 4, "cpus": 1.5, "memory_gib": 8, "labels": {"gpu": "", "zone": "a"})");
  CHECK(Listed(Violations(job)) == "");
  CHECK(ShapeOf(ParseJobFile(job).spec) == RankShape{4, 1.5, 8, {{"gpu", ""}, {"zone", "a"}}});
  CHECK(WeightOf(ParseJobFile(job).spec) == 1);
  CHECK(WeightOf(ParseJobFile(BuiltinJob(R"("seed": 1729)", R"("scheduling": {"weight": 2.5})")).spec) ==
        2.5);
}

TEST_CASE("Cluster: GPUs that ranks ask for, and how many ranks a worker holds", "[spec]") {
  const auto spec_of = [](const std::string& cluster) { return ParseJobFile(ClusterJob(cluster)).spec; };
  CHECK(Listed(Violations(ClusterJob(R"("gpus": 2)"))) == "");
  CHECK(Listed(Violations(ClusterJob(R"("gpu_share": 0.25)"))) == "");
  CHECK(ShapeOf(spec_of(R"("gpus": 2)")) == RankShape{1, 0, 0, {}, 2, 0});
  CHECK(RanksPerWorker(spec_of(R"("slots": 2, "gpus": 2)"), 16, 5) == 2);
  CHECK(RanksPerWorker(spec_of(R"("slots": 2, "gpus": 2)"), 16, -1) == 8);
  CHECK(RanksPerWorker(spec_of(R"("gpu_share": 0.25, "cpus": 99)"), 16, 2) == 8);
  CHECK(RanksPerWorker(spec_of(R"("slots": 3)"), 16, 0) == 5);
}

TEST_CASE("Cluster: how long ranks wait for each other is the job's to say", "[spec]") {
  for (const char* name : {"WINNOW_RENDEZVOUS_SECONDS", "WINNOW_RANK_PATIENCE_SECONDS"}) {
    CHECK(Listed(Violations(CommandJob("OMP_NUM_THREADS", name))) == "");
  }
}

TEST_CASE("Cluster: limits on attempts reach the search, with defaults", "[spec]") {
  CHECK(SearchOf(BuiltinJob()).limits.max_lost_attempts == 10);
  const std::string job = BuiltinJob(R"("max_trials": 30)", R"("max_trials": 30, "max_lost_attempts": 3)");
  CHECK(SearchOf(job).limits.max_lost_attempts == 3);
}

TEST_CASE("Cluster: the number of nodes may be an integer, discrete or categorical hyperparameter",
          "[spec]") {
  for (const char* range : {R"("integer": {"min": 1, "max": 3})", R"("discrete": {"values": [1, 2, 3]})",
                            R"("categorical": {"values": ["1", "2", "3"]})"}) {
    INFO(range);
    CHECK(Listed(Violations(WidthJob(range))) == "");
    const SearchSpec search = SearchOf(WidthJob(range));
    CHECK(search.nodes_parameter == 0);
    CHECK(search.MostNodes() == 3);
    CHECK(NodeCounts(ParseJobFile(WidthJob(range)).spec) == std::vector<int32_t>{1, 2, 3});
  }
  const SearchSpec search = SearchOf(WidthJob(R"("integer": {"min": 1, "max": 3})"));
  CHECK(search.Nodes({int64_t{2}, 0.5}) == 2);
  CHECK(search.Nodes({3.0, 0.5}) == 3);
  CHECK(search.Nodes({std::string("3"), 0.5}) == 3);
  CHECK(SearchOf(ClusterJob(R"("nodes": 4)")).Nodes({}) == 4);
}

TEST_CASE("Cluster: a trainer is given the number of nodes by its placeholder only", "[spec]") {
  auto spec = ParseJobFile(WidthJob(R"("integer": {"min": 1, "max": 3})")).spec;
  const Launch plain = MakeLaunch(spec, {int64_t{2}, 0.5}, 1);
  CHECK(plain.command == std::vector<std::string>{"python3", "train.py", "--batch", "32", "--rate", "0.5"});
  CHECK(plain.environment.at("SM_HPS") == R"({"batch": 32, "rate": 0.5})");
  CHECK(plain.environment.count("SM_HP_RANKS") == 0);
  spec.mutable_trainer()->add_command("--ranks={{ranks}}");
  CHECK(MakeLaunch(spec, {int64_t{2}, 0.5}, 1).command ==
        std::vector<std::string>{"python3", "train.py", "--ranks=2"});
}

TEST_CASE("Cluster: a built-in trainer takes any name that is none of its own for the nodes", "[spec]") {
  const std::string parameters = R"("parameters": [)";
  std::string job = ClusterJob(R"("nodes_parameter": "ranks")");
  job.insert(job.find(parameters) + parameters.size(),
             R"({"name": "ranks", "discrete": {"values": [1, 2, 4]}},)");
  CHECK(Listed(Violations(job)) == "");
}

TEST_CASE("Malformed clusters", "[spec]") {
  CheckCases({
      {ClusterJob(R"("slots": -1)"), "cluster.slots", {"-1", "1 to 1024"}},
      {ClusterJob(R"("cpus": 0.001)"), "cluster.cpus", {"0.001", "0.01 to 4096", "or 0"}},
      {ClusterJob(R"("memory_gib": -2)"), "cluster.memory_gib", {"-2", "0.001 to 65536"}},
      {ClusterJob(R"("gpus": -1)"), "cluster.gpus", {"is -1", "0 to 1024"}},
      {ClusterJob(R"("gpus": 1025)"), "cluster.gpus", {"is 1025", "0 to 1024"}},
      {ClusterJob(R"("gpu_share": 1)"), "cluster.gpu_share", {"is 1;", "below 1", "cluster.gpus"}},
      {ClusterJob(R"("gpu_share": -0.5)"), "cluster.gpu_share", {"is -0.5", "0.001"}},
      {ClusterJob(R"("gpus": 2, "gpu_share": 0.5)"),
       "cluster.gpu_share",
       {"beside cluster.gpus 2", "one of"}},
      {ClusterJob(R"("labels": {"g pu": ""})"), "cluster.labels.g pu", {"not a label's name", "letters"}},
      {ClusterJob(R"("pools": ["cpu", "cpu"])"), "cluster.pools[1]", {"\"cpu\" again", "each pool once"}},
      {ClusterJob(R"("pools": ["c pu"])"), "cluster.pools[0]", {"\"c pu\" is not a pool's name"}},
      {ClusterJob(R"("labels": {"zone": "a b"})"), "cluster.labels.zone", {"\"a b\"", "any value"}},
      {ClusterJob(R"("nodes_parameter": "rank")"),
       "cluster.nodes_parameter",
       {"rank", "not a tuned hyperparameter"}},
      {ClusterJob(R"("nodes_parameter": "num_round")"),
       "cluster.nodes_parameter",
       {"num_round", "hyperparameter of gbdt", "another name"}},
      {WidthJob(R"("integer": {"min": 0, "max": 3})"), "parameters[0].integer.min", {"is 0", "from 1 to 64"}},
      {WidthJob(R"("integer": {"min": 1, "max": 65})"), "parameters[0].integer.max", {"is 65", "1 to 64"}},
      {WidthJob(R"("discrete": {"values": [1, 2.5]})"), "parameters[0].discrete.values[1]", {"2.5", "whole"}},
      {WidthJob(R"("categorical": {"values": ["1", "two"]})"),
       "parameters[0].categorical.values[1]",
       {"\"two\"", "whole"}},
      {WidthJob(R"("continuous": {"min": 1, "max": 3})"),
       "parameters[0].continuous",
       {"number of nodes", "integer or discrete"}},
      {WidthJob(R"("integer": {"min": 1, "max": 3})", R"("nodes": 2, "nodes_parameter": "ranks")"),
       "cluster.nodes",
       {"is 2 beside nodes_parameter", "one of the two"}},
      {BuiltinJob(R"("seed": 1729)", R"("scheduling": {"priority": 1001})"),
       "scheduling.priority",
       {"1001", "-1000 to 1000"}},
      {BuiltinJob(R"("seed": 1729)", R"("scheduling": {"weight": 0})"),
       "scheduling.weight",
       {"is 0", "0.001 to 1000"}},
      {ExternalJob(R"("scheduling": {"priority": 1})"), "scheduling", {"external", "expected none"}},
      {ExternalJob("", R"("max_trials": 10)", R"("max_trials": 10, "max_attempt_time": "60s")"),
       "limits.max_attempt_time",
       {"external", "expected none"}},
      {BuiltinJob(R"("max_trials": 30)", R"("max_trials": 30, "max_lost_attempts": -1)"),
       "limits.max_lost_attempts",
       {"-1", "1 to 1000"}},
      {BuiltinJob(R"("max_trials": 30)", R"("max_trials": 30, "max_attempt_time": "-1s")"),
       "limits.max_attempt_time",
       {"-1", "expected 0s to"}},
  });
}

}  // namespace
}  // namespace winnow
