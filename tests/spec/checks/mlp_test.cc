#include "spec/job_file.h"
#include "spec/warnings.h"
#include "tests/catch.h"
#include "tests/spec/job_files.h"
#include "tests/spec/malformed.h"

namespace winnow {
namespace {

std::string Job(const std::string& hyperparameters,
                const std::string& tuned = R"({"name": "dropout", "continuous": {"min": 0, "max": 0.5}})",
                const std::string& nodes = "1") {
  return R"({"name": "m", "trainer": {"builtin": "mlp"}, "static_hyperparameters": {)" + hyperparameters +
         R"(}, "channels": {"train": {"path": "t"}}, "parameters": [)" + tuned +
         R"(], "objective": {"metric": "samples-per-second", "goal": "MAXIMIZE"}, "strategy": "RANDOM",
             "limits": {"max_trials": 3}, "cluster": {"nodes": )" +
         nodes + "}}";
}

TEST_CASE("Jobs of mlp: every way to share the work passes, fixed or searched", "[spec]") {
  const std::string ways = R"({"name": "distribution", "categorical": {"values":
      ["ALL_REDUCE", "zero", "Pipeline", "LOCAL_SGD", "PARAMETER_SERVER"]}})";
  const std::string layers = R"({"name": "hidden_layers", "categorical": {"values": ["256,128", "[64]"]}})";
  for (const std::string& job :
       {Job(""), Job("", ways, "4"), Job("", layers), Job(R"("hidden_layers": "[300, 100]", "lr": 0.1)"),
        Job(R"("nesterov": true)", R"({"name": "momentum", "continuous": {"min": 0, "max": 0.9}})")}) {
    INFO(job);
    CHECK(Listed(Violations(job)) == "");
  }
}

TEST_CASE("Malformed jobs of mlp: values", "[spec]") {
  const std::string at = "static_hyperparameters.";
  CheckCases({
      {Job(R"("learning_rate": -1)"), at + "learning_rate", {"-1", "more than 0"}},
      {Job(R"("layer_width": 0)"), at + "layer_width", {"0", "at least 1 and at most 65536"}},
      {Job(R"("momentum": 1)"), at + "momentum", {"at least 0 and less than 1"}},
      {Job(R"("hidden_layers": "256,0")"), at + "hidden_layers", {"256,0", "widths from 1 to 65536"}},
      {Job(R"("hidden_layers": "wide")"), at + "hidden_layers", {"wide", "as 256,128"}},
      {Job(R"("activation": "swish")"), at + "activation", {"swish", "relu, leaky_relu, gelu, tanh"}},
      {Job(R"("lerning_rate": 1)"), at + "lerning_rate", {"did you mean learning_rate?"}},
      {Job(R"("lr": 1, "learning_rate": 1)"), at + "lr", {"means the same"}},
      {Job(R"("eval_metric": "acuracy")"),
       at + "eval_metric",
       {"\"acuracy\"", "expected loss, logloss", "did you mean accuracy?"}},
      {Job(R"("eval_metric": "rmse")"),
       at + "eval_metric",
       {"\"rmse\"", "expected loss, logloss, accuracy, error, auc or topK", "with loss cross_entropy"}},
      {Job(R"("loss": "mse", "eval_metric": "loss,auc")"),
       at + "eval_metric",
       {"\"auc\"", "expected loss, rmse or mae with loss mse"}},
      {Job(R"("loss": "mse", "num_class": 3)"), at + "num_class", {"3", "none with loss mse"}},
      {Job("", R"({"name": "hidden_layers", "categorical": {"values": ["9", "x"]}})"),
       "parameters[0].categorical.values[1]",
       {"x", "widths"}},
      {Job("", R"({"name": "loss", "categorical": {"values": ["mse", "huber"]}})"),
       "parameters[0].name",
       {"loss", "cannot be tuned"}},
      {Job("", R"({"name": "epochs", "discrete": {"values": [1, 2]}})"),
       "parameters[0].discrete",
       {"how far a trial goes"}},
  });
}

TEST_CASE("Malformed jobs of mlp: what contradicts something else", "[spec]") {
  const std::string at = "static_hyperparameters.";
  CheckCases({
      {Job(R"("nesterov": true)"), at + "nesterov", {"momentum above 0"}},
      {Job(R"("scale_learning_rate": true)"), at + "scale_learning_rate", {"batch_scaling LINEAR"}},
      {Job(R"("compression": "int8", "distribution": "ZERO")"), at + "compression", {"int8", "none"}},
      {Job(R"("batch_norm": "synchronised", "distribution": "PIPELINE")"), at + "batch_norm", {"none with"}},
      {Job(R"("batch_norm": "per_rank", "distribution": "PIPELINE")"), at + "batch_norm", {"none with"}},
      {Job(R"("batch_norm": "synchronised", "distribution": "LOCAL_SGD")",
           R"({"name": "lr", "continuous": {"min": 0.1, "max": 0.2}})", "2"),
       at + "batch_norm",
       {"per_rank with distribution LOCAL_SGD"}},
      {Job(R"("optimizer": "lamb", "distribution": "PARAMETER_SERVER")"), at + "optimizer", {"lamb"}},
      {Job(R"("sift_beta": 0.5, "distribution": "LOCAL_SGD")"),
       at + "distribution",
       {"LOCAL_SGD", "with sift_beta"}},
      {Job(R"("sift_delay": 1)"), at + "sift_delay", {"expected sift_beta to be given too"}},
      {Job(R"("batch_size": 8, "virtual_shards": 9)"),
       at + "virtual_shards",
       {"9", "at most batch_size = 8"}},
      {Job(R"("distribution": "PIPELINE", "pipeline_stages": 2)",
           R"({"name": "lr", "continuous": {"min": 0.1, "max": 0.2}})", "3"),
       at + "pipeline_stages",
       {"2", "divisor of cluster.nodes, 3"}},
      {Job(R"("distribution": "PIPELINE", "batch_size": 8, "micro_batches": 9)"),
       at + "micro_batches",
       {"9", "at most batch_size = 8"}},
      {Job(R"("batch_size": 40)", R"({"name": "lr", "continuous": {"min": 0.1, "max": 0.2}})", "5"),
       "cluster.nodes",
       {"5", "at most virtual_shards, which is 4"}},
      {Job(R"("hidden_layers": "9")", R"({"name": "num_layers", "integer": {"min": 1, "max": 3}})"),
       "parameters[0].name",
       {"\"num_layers\" is tuned", "either hidden_layers, or num_layers and layer_width"}},
  });
}

std::vector<std::string> Warned(const std::string& job) {
  CHECK(Listed(Violations(job)) == "");
  return SpecWarnings(ParseJobFile(job).spec);
}

bool Holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string kRate = R"({"name": "learning_rate", "continuous": {"min": 0.1, "max": 0.2}})";

TEST_CASE("Warnings: batches that grow with the nodes, with what helps unless it is there", "[spec]") {
  const std::string scaled = R"("batch_scaling": "LINEAR", "batch_size": 100)";
  const auto warned = Warned(Job(scaled, kRate, "4"));
  REQUIRE(warned.size() == 1);
  CHECK(Holds(warned[0], "batch_size x 4 = 400"));
  CHECK(Holds(warned[0], "scale_learning_rate true and warmup_epochs 5 (Goyal et al. 2017)"));
  const auto cured = Warned(Job(scaled + R"(, "scale_learning_rate": true, "warmup_epochs": 2)", kRate, "4"));
  REQUIRE(cured.size() == 1);
  CHECK_FALSE(Holds(cured[0], "what helps"));
  CHECK(Warned(Job(scaled, kRate, "1")).empty());
  CHECK(Warned(Job("", kRate, "4")).empty());
}

TEST_CASE("Warnings: stale gradients with momentum collapse, unless something corrects them", "[spec]") {
  const auto of = [](const std::string& more, const std::string& nodes = "4") {
    return Warned(Job(R"("distribution": "PARAMETER_SERVER")" + more, kRate, nodes));
  };
  const auto warned = of(R"(, "momentum": 0.9)");
  REQUIRE(warned.size() == 2);
  CHECK(Holds(warned[0], "cannot be repeated"));
  CHECK(Holds(warned[1], "momentum 0.9 on 4 nodes"));
  CHECK(Holds(warned[1], "0.97 on one node, 0.11 on 4 nodes"));
  CHECK(Holds(warned[1], "implicit_momentum_correction 1"));
  CHECK(of(R"(, "momentum": 0.4)").size() == 1);
  CHECK(of(R"(, "momentum": 0.9, "staleness_aware": true)").size() ==
        2);  // not enough: what is fresh keeps its rate
  CHECK(of(R"(, "momentum": 0.9, "implicit_momentum_correction": 1)").size() == 1);
  CHECK(of(R"(, "momentum": 0.9, "optimizer": "adam")").size() == 1);
  CHECK(of(R"(, "momentum": 0.9, "staleness_bound": 0)").size() == 2);
  const auto alone = of(R"(, "momentum": 0.9)", "1");
  REQUIRE(alone.size() == 1);
  CHECK(Holds(alone[0], "PARAMETER_SERVER does nothing on one node"));
}

TEST_CASE("Warnings: of what is searched too", "[spec]") {
  const std::string searched = R"({"name": "distribution", "categorical": {"values":
      ["ALL_REDUCE", "PARAMETER_SERVER"]}}, {"name": "momentum", "continuous": {"min": 0, "max": 0.95}})";
  const auto warned = Warned(Job("", searched, "2"));
  REQUIRE(warned.size() == 2);
  CHECK(Holds(warned[1], "momentum 0.95 on 2 nodes"));
}

}  // namespace
}  // namespace winnow
