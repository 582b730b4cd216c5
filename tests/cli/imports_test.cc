// winnow import: files of other programs, as they write them.

#include <re2/re2.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/catch.h"
#include "tests/cli/process.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

using nlohmann::json;

constexpr char kExperiment[] = R"yaml(
apiVersion: kubeflow.org/v1beta1
kind: Experiment
metadata: {namespace: kubeflow, name: katib-example}
spec:
  objective: {type: minimize, goal: 0.001, objectiveMetricName: loss, additionalMetricNames: [Train-accuracy]}
  algorithm:
    algorithmName: tpe
    algorithmSettings: [{name: n_EI_candidates, value: "25"}]
  earlyStopping: {algorithmName: medianstop}
  parallelTrialCount: 3
  maxTrialCount: 12
  maxFailedTrialCount: 3
  parameters:
    - {name: lr, parameterType: double, feasibleSpace: {min: "0.01", max: "0.05", distribution: logUniform}}
    - {name: momentum, parameterType: double, feasibleSpace: {min: "0.5", max: "0.9", step: "0.2"}}
    - {name: layers, parameterType: int, feasibleSpace: {min: "2", max: "5"}}
    - {name: optimizer, parameterType: categorical, feasibleSpace: {list: [sgd, adam]}}
  trialTemplate:
    primaryContainerName: training
    trialParameters: [{name: learningRate, reference: lr}]
    trialSpec:
      apiVersion: batch/v1
      kind: Job
      spec: {template: {spec: {containers: [{name: training, image: "docker.io/kubeflow/pytorch-mnist:latest",
        command: [python3, /opt/mnist.py, "--lr=${trialParameters.learningRate}"], resources: {limits: {memory: 1Gi}}}]}}}
)yaml";

constexpr char kSweep[] = R"yaml(
program: train.py
method: bayes
name: sweepdemo
project: demo
metric: {name: validation_loss, goal: minimize}
run_cap: 8
parameters:
  learning_rate: {distribution: log_uniform_values, min: 0.0001, max: 0.1}
  batch_size: {values: [16, 32, 64]}
  optimizer: {values: [adam, sgd]}
  epochs: {value: 27}
  layers: {min: 1, max: 4}
  dropout: {distribution: q_uniform, min: 0, max: 0.5, q: 0.25}
  noise: {distribution: normal, mu: 0, sigma: 1}
early_terminate: {type: hyperband, max_iter: 27, s: 2}
command: ["${env}", "${interpreter}", "${program}", "--fast", "${args}"]
)yaml";

constexpr char kRay[] =
    R"({"metric": "mean_accuracy", "mode": "max", "num_samples": 10, "scheduler": "asha", "param_space": {
  "lr": {"domain": "loguniform", "lower": 0.001, "upper": 0.1}, "width": {"domain": "randint", "lower": 1, "upper": 9},
  "rate": {"domain": "quniform", "lower": 0, "upper": 0.4, "q": 0.1}, "act": {"domain": "choice", "categories": ["relu", "tanh"]},
  "odd": {"domain": "randn"}, "epochs": 5}})";

constexpr char kOptuna[] =
    R"({"study_name": "tuned", "direction": "maximize", "n_trials": 20, "distributions": {
  "x": {"name": "FloatDistribution", "attributes": {"step": null, "low": 0.01, "high": 1.0, "log": true}},
  "n": "{\"name\": \"IntDistribution\", \"attributes\": {\"log\": false, \"step\": 2, \"low\": 1, \"high\": 7}}",
  "c": {"name": "CategoricalDistribution", "attributes": {"choices": ["a", null, 3]}}}})";

constexpr char kDescribed[] =
    R"({"HyperParameterTuningJobName": "xgb", "HyperParameterTuningJobConfig": {"Strategy": "Hyperband",
  "StrategyConfig": {"HyperbandStrategyConfig": {"MinResource": 1, "MaxResource": 9}}, "ResourceLimits": {"MaxNumberOfTrainingJobs": 30,
  "MaxParallelTrainingJobs": 4}, "RandomSeed": 7, "ParameterRanges": {"IntegerParameterRanges": [{"Name": "max_depth", "MinValue": "1", "MaxValue": "8"}],
  "ContinuousParameterRanges": [{"Name": "eta", "MinValue": "0.001", "MaxValue": "0.5", "ScalingType": "Auto"}],
  "CategoricalParameterRanges": [{"Name": "booster", "Values": ["gbtree", "dart"]}]},
  "HyperParameterTuningJobObjective": {"Type": "Maximize", "MetricName": "validation:auc"}}, "TrainingJobDefinition": {
  "StaticHyperParameters": {"objective": "binary:logistic", "eval_metric": "auc", "num_round": "9", "_tuning_objective_metric": "validation:auc"},
  "AlgorithmSpecification": {"TrainingImage": "683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1"},
  "InputDataConfig": [{"ChannelName": "train", "ContentType": "text/csv", "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix",
    "S3Uri": "s3://bucket/train.csv"}}}, {"ChannelName": "validation", "ContentType": "text/csv", "DataSource": {"S3DataSource":
    {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/validation.csv"}}}], "EnableManagedSpotTraining": true,
  "HyperParameterTuningResourceConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 3}}})";

constexpr char kChildren[] = R"({"TrainingJobSummaries": [
  {"TunedHyperParameters": {"eta": "0.1", "max_depth": "3", "booster": "dart"},
   "FinalHyperParameterTuningJobObjectiveMetric": {"MetricName": "validation:auc", "Value": 0.75}},
  {"TunedHyperParameters": {"eta": "0.2", "max_depth": "4", "booster": "gbtree"}}]})";

struct ImportRun {
  json job;
  std::string left_out;
};

// Imports the file, and asks what would run.
ImportRun ImportAndPlan(const TempFolder& folder, const std::string& program, const std::string& text,
                        std::vector<std::string> more = {}) {
  std::ofstream(folder.file("given")) << text;
  std::vector<std::string> arguments = {"import", program, folder.file("given")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Result imported = RunWinnow(arguments, "");
  INFO(imported.err);
  REQUIRE(imported.code == 0);
  std::ofstream(folder.file("job.json")) << imported.out;
  const Result plan = RunWinnow({"plan", folder.file("job.json")}, "");
  INFO(plan.err << imported.out);
  CHECK(plan.code == 0);
  return {json::parse(imported.out), imported.err};
}

}  // namespace

TEST_CASE("import: an Experiment of Katib", "[cli]") {
  const TempFolder folder;
  const ImportRun run = ImportAndPlan(folder, "katib", kExperiment);
  CHECK(run.job["name"] == "katib-example");
  CHECK(run.job["trainer"]["command"] == json({"python3", "/opt/mnist.py", "--lr={{lr}}"}));
  CHECK(run.job["trainer"]["container"]["image"] == "docker.io/kubeflow/pytorch-mnist:latest");
  CHECK(run.job["parameters"] ==
        json::parse(R"([{"name": "lr", "continuous": {"min": 0.01, "max": 0.05, "scaling": "LOG"}},
                        {"name": "momentum", "discrete": {"values": [0.5, 0.7, 0.9]}}, {"name": "layers", "integer": {"min": 2, "max": 5}},
                        {"name": "optimizer", "categorical": {"values": ["sgd", "adam"]}}])"));
  CHECK(run.job["objective"] == json({{"metric", "loss"}, {"goal", "MINIMIZE"}}));
  CHECK(run.job["limits"] == json({{"max_trials", 12}, {"max_parallel_trials", 3}}));
  CHECK(run.job["completion"]["target_objective"] == 0.001);
  const RE2 expression(run.job["trainer"]["metrics"][0]["regex"].get<std::string>());
  double value = 0;
  for (const char* line : {"val-loss=0.5 loss=0.25", "loss = 0.25", "epoch 1:loss=0.25,"})
    CHECK((RE2::PartialMatch(line, expression, &value) && value == 0.25));
  CHECK_FALSE(RE2::PartialMatch("val-loss=0.5", expression));
  for (const char* part : {"algorithm.algorithmSettings", "maxFailedTrialCount", "container.resources"})
    CHECK_THAT(run.left_out, Catch::Contains(std::string("not taken over: ") + part));
}

TEST_CASE("import: a sweep of W&B", "[cli]") {
  const TempFolder folder;
  const ImportRun run = ImportAndPlan(folder, "wandb", kSweep);
  CHECK(run.job["trainer"]["command"] == json({"python3", "train.py", "--fast"}));
  CHECK(run.job["static_hyperparameters"] == json({{"epochs", 27}}));
  CHECK(
      run.job["parameters"] ==
      json::parse(R"([{"name": "learning_rate", "continuous": {"min": 0.0001, "max": 0.1, "scaling": "LOG"}},
                        {"name": "batch_size", "discrete": {"values": [16, 32, 64]}}, {"name": "optimizer", "categorical": {"values": ["adam", "sgd"]}},
                        {"name": "layers", "integer": {"min": 1, "max": 4}}, {"name": "dropout", "discrete": {"values": [0, 0.25, 0.5]}}])"));
  CHECK(run.job["hyperband"] == json({{"max_resource", 27}}));
  for (const char* part : {"parameters.noise", "early_terminate.s", "project"})
    CHECK_THAT(run.left_out, Catch::Contains(std::string("not taken over: ") + part));
}

TEST_CASE("import: spaces of Ray Tune and Optuna", "[cli]") {
  const TempFolder folder;
  const ImportRun ray = ImportAndPlan(folder, "ray", kRay);
  CHECK(
      ray.job["parameters"] ==
      json::parse(
          R"([{"name": "lr", "continuous": {"min": 0.001, "max": 0.1, "scaling": "LOG"}}, {"name": "width", "integer": {"min": 1, "max": 8}},
                        {"name": "rate", "discrete": {"values": [0, 0.1, 0.2, 0.3, 0.4]}}, {"name": "act", "categorical": {"values": ["relu", "tanh"]}}])"));
  CHECK(ray.job["objective"]["goal"] == "MAXIMIZE");
  CHECK_THAT(ray.left_out, Catch::Contains("param_space.odd") && Catch::Contains("scheduler"));
  const ImportRun optuna = ImportAndPlan(folder, "optuna", kOptuna);
  CHECK(
      optuna.job["parameters"] ==
      json::parse(
          R"([{"name": "x", "continuous": {"min": 0.01, "max": 1.0, "scaling": "LOG"}}, {"name": "n", "discrete": {"values": [1, 3, 5, 7]}},
                        {"name": "c", "categorical": {"values": ["a", "null", "3"]}}])"));
}

TEST_CASE("import: names, goals and static values that a job file does not have as they are", "[cli]") {
  const TempFolder folder;
  const ImportRun sweep = ImportAndPlan(folder, "wandb", R"yaml(
program: train.py
name: My sweep é1
method: random
metric: {name: loss, goal: Maximize}
parameters: {lr: {min: 0.001, max: 0.1}, shape: {value: [1, 2]}, none: {value: null}}
early_terminate: {type: hyperband, max_iter: 27, eta: 2}
)yaml");
  CHECK(sweep.job["name"] == "My-sweep--1");
  CHECK_THAT(sweep.left_out, Catch::Contains("the name My sweep é1: it becomes My-sweep--1"));
  CHECK(sweep.job["objective"]["goal"] == "MAXIMIZE");
  CHECK(sweep.job["hyperband"] == json({{"max_resource", 27}, {"reduction_factor", 2}}));
  CHECK(sweep.job["static_hyperparameters"] == json({{"shape", "[1,2]"}}));
  CHECK_THAT(sweep.left_out, Catch::Contains("parameters.none: is null"));
  const ImportRun study = ImportAndPlan(folder, "optuna", R"({"direction": "MAXIMIZE", "n_trials": 3,
    "distributions": {"x": {"name": "FloatDistribution", "attributes": {"low": 0, "high": 1}}}})");
  CHECK(study.job["objective"]["goal"] == "MAXIMIZE");
  const ImportRun ray = ImportAndPlan(folder, "ray", R"({"num_samples": 3, "param_space": {"layers": [8, 8],
    "x": {"domain": "uniform", "lower": 0, "upper": 1}, "y": {"domain": "normal"}}})");
  CHECK(ray.job["static_hyperparameters"] == json({{"layers", "[8,8]"}}));
  CHECK_THAT(ray.left_out, Catch::Contains("mode: is missing; the goal is MINIMIZE") &&
                               Catch::Contains(R"({"domain":"normal"} is not offered)"));
}

TEST_CASE("import: a goal that is neither is refused, not turned round", "[cli]") {
  struct Case {
    const char* program;
    const char* text;
    const char* told;
  };
  const TempFolder folder;
  const std::vector<Case> cases = {
      {"ray", R"({"mode": "maximise", "param_space": {"x": 1}})", "mode: is \"maximise\"; expected"},
      {"optuna", R"({"direction": "up", "distributions": {"x": {}}})", "direction: is \"up\"; expected"},
      {"wandb", "{method: grid, metric: {goal: most}, parameters: {}}", "metric.goal: is \"most\""},
      {"katib", "{kind: Experiment, spec: {objective: {type: minimise}, parameters: []}}",
       "spec.objective.type: is \"minimise\"; expected minimize or maximize"},
  };
  for (const Case& each : cases) {
    std::ofstream(folder.file("given")) << each.text;
    const Result result = RunWinnow({"import", each.program, folder.file("given")}, "");
    INFO(result.err);
    CHECK(result.code == 1);
    CHECK_THAT(result.err, Catch::Contains(each.told));
  }
}

TEST_CASE("import: a tuning job of SageMaker, and its results", "[cli]") {
  const TempFolder folder;
  std::ofstream(folder.file("children")) << kChildren;
  const ImportRun run =
      ImportAndPlan(folder, "sagemaker", kDescribed,
                    {"--training-jobs", folder.file("children"), "--results", folder.file("results.csv")});
  CHECK(run.job["trainer"]["builtin"] == "gbdt");
  CHECK(run.job["static_hyperparameters"] ==
        json({{"objective", "binary:logistic"}, {"eval_metric", "auc"}, {"num_round", "9"}}));
  CHECK(
      run.job["parameters"] ==
      json::parse(
          R"([{"name": "max_depth", "integer": {"min": 1, "max": 8}}, {"name": "eta", "continuous": {"min": 0.001, "max": 0.5, "scaling": "LOG"}},
                        {"name": "booster", "categorical": {"values": ["gbtree", "dart"]}}])"));
  CHECK(run.job["channels"]["train"] ==
        json({{"path", "s3://bucket/train.csv"}, {"format", "csv"}, {"header", "no"}, {"label", "0"}}));
  CHECK(run.job["cluster"]["nodes"] == 3);
  CHECK(run.job["hyperband"] == json({{"min_resource", 1}, {"max_resource", 9}}));
  CHECK_THAT(run.left_out, Catch::Contains("TrainingJobDefinition.EnableManagedSpotTraining"));
  std::stringstream table;
  table << std::ifstream(folder.file("results.csv")).rdbuf();
  CHECK(table.str() == "objective,max_depth,eta,booster\n0.75,3,0.1,dart\n");
}

TEST_CASE("import: when training jobs of SageMaker end, and what they run with", "[cli]") {
  const TempFolder folder;
  json described = json::parse(kDescribed);
  json& definition = described["TrainingJobDefinition"];
  definition["StaticHyperParameters"] = {{"objective", "binary:logistic"}, {"num_round", "9"}};
  definition["StoppingCondition"] = {{"MaxRuntimeInSeconds", 3600}, {"MaxWaitTimeInSeconds", 7200}};
  definition["RetryStrategy"]["MaximumRetryAttempts"] = 2;
  definition["Environment"]["A"] = "b";
  json& config = described["HyperParameterTuningJobConfig"];
  config["Strategy"] = "Random";
  config.erase("StrategyConfig");
  config["TuningJobCompletionCriteria"] = {
      {"TargetObjectiveMetricValue", 0.9},
      {"BestObjectiveNotImproving", {{"MaxNumberOfTrainingJobsNotImproving", 12}}},
      {"ConvergenceDetected", {{"CompleteOnConvergence", "Enabled"}}}};
  const ImportRun run = ImportAndPlan(folder, "sagemaker", described.dump());
  CHECK(run.job["limits"]["max_attempt_time"] == "3600s");
  CHECK(run.job["limits"]["max_attempts"] == 3);
  CHECK(run.job["trainer"]["environment"] == json({{"A", "b"}}));
  CHECK(run.job["completion"] ==
        json({{"target_objective", 0.9}, {"no_improvement_trials", 12}, {"convergence_tolerance", 0.01}}));
  CHECK(run.job["static_hyperparameters"]["eval_metric"] == "auc");  // the objective's
  CHECK_THAT(run.left_out, Catch::Contains("StoppingCondition.MaxWaitTimeInSeconds"));
}

TEST_CASE("import: texts that SageMaker's SDK has written as JSON are texts", "[cli]") {
  const TempFolder folder;
  json described = json::parse(kDescribed);
  json& definition = described["TrainingJobDefinition"];
  definition["AlgorithmSpecification"] = {
      {"TrainingImage", "1.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.0"},
      {"MetricDefinitions", {{{"Name", "validation:auc"}, {"Regex", "auc=([0-9.]+)"}}}}};
  definition["StaticHyperParameters"] = {
      {"sagemaker_program", "\"train.py\""}, {"optimizer", "\"adam\""}, {"epochs", "3"}};
  described["HyperParameterTuningJobConfig"]["ParameterRanges"]["CategoricalParameterRanges"] = {
      {{"Name", "booster"}, {"Values", {"\"gbtree\"", "\"dart\""}}}};
  json children = json::parse(kChildren);
  children["TrainingJobSummaries"][0]["TunedHyperParameters"]["booster"] = "\"dart\"";
  std::ofstream(folder.file("children")) << children.dump();
  const ImportRun run =
      ImportAndPlan(folder, "sagemaker", described.dump(),
                    {"--training-jobs", folder.file("children"), "--results", folder.file("results.csv")});
  CHECK(run.job["static_hyperparameters"] == json({{"optimizer", "adam"}, {"epochs", "3"}}));
  CHECK(run.job["parameters"][2]["categorical"]["values"] == json({"gbtree", "dart"}));
  std::stringstream table;
  table << std::ifstream(folder.file("results.csv")).rdbuf();
  CHECK(table.str() == "objective,max_depth,eta,booster\n0.75,3,0.1,dart\n");
}

TEST_CASE("import: each of several definitions of a tuning job of SageMaker becomes a job", "[cli]") {
  const TempFolder folder;
  const json described = json::parse(kDescribed);
  json several = described;
  json definition = several["TrainingJobDefinition"];
  several.erase("TrainingJobDefinition");
  several["HyperParameterTuningJobConfig"].erase("ParameterRanges");
  several["HyperParameterTuningJobConfig"]["ResourceLimits"]["MaxNumberOfTrainingJobs"] = 31;
  for (const char* name : {"deep", "flat"}) {
    definition["DefinitionName"] = name;
    definition["StaticHyperParameters"]["objective"] = "reg:squarederror";
    definition["StaticHyperParameters"]["eval_metric"] = "rmse";
    definition["TuningObjective"] = {{"Type", "Minimize"}, {"MetricName", "validation:rmse"}};
    definition["HyperParameterRanges"]["IntegerParameterRanges"] = json::array(
        {{{"Name", "max_depth"}, {"MinValue", "1"}, {"MaxValue", name == std::string("deep") ? "12" : "3"}}});
    several["TrainingJobDefinitions"].push_back(definition);
  }
  std::ofstream(folder.file("children")) << R"({"TrainingJobSummaries": [
    {"TrainingJobDefinitionName": "deep", "TunedHyperParameters": {"max_depth": "9"},
     "FinalHyperParameterTuningJobObjectiveMetric": {"Value": 0.5}},
    {"TrainingJobDefinitionName": "flat", "TunedHyperParameters": {"max_depth": "2"},
     "FinalHyperParameterTuningJobObjectiveMetric": {"Value": 0.25}}]})";
  const ImportRun first = ImportAndPlan(folder, "sagemaker", several.dump());
  CHECK(first.job["name"] == "xgb-deep");
  CHECK(first.job["limits"]["max_trials"] == 16);
  CHECK_THAT(first.left_out, Catch::Contains("--definition flat"));
  const ImportRun second = ImportAndPlan(folder, "sagemaker", several.dump(),
                                         {"--definition", "flat", "--training-jobs", folder.file("children"),
                                          "--results", folder.file("results.csv")});
  CHECK(second.job["name"] == "xgb-flat");
  CHECK(second.job["limits"] == json({{"max_trials", 15}, {"max_parallel_trials", 2}}));
  CHECK(second.job["parameters"][0]["integer"]["max"] == 3);
  CHECK(second.job["objective"]["goal"] == "MINIMIZE");
  CHECK_THAT(second.left_out, Catch::Contains("--definition deep"));
  std::stringstream table;
  table << std::ifstream(folder.file("results.csv")).rdbuf();
  CHECK(table.str() == "objective,max_depth\n0.25,2\n");
  std::ofstream(folder.file("given")) << several.dump();
  const Result none = RunWinnow({"import", "sagemaker", folder.file("given"), "--definition", "wide"}, "");
  CHECK(none.code == 1);
  CHECK_THAT(none.err, Catch::Contains("expected one of deep, flat"));
}

TEST_CASE("import: what a program does not get is said", "[cli]") {
  const TempFolder folder;
  std::string experiment = kExperiment;
  const auto put = [&experiment](const std::string& before, const std::string& after) {
    REQUIRE(experiment.find(before) != std::string::npos);
    experiment.replace(experiment.find(before), before.size(), after);
  };
  put("goal: 0.001", "goal: 0.001, metricStrategies: [{name: loss, value: latest}]");
  put("reference: lr}]", "reference: lr}, {name: me, reference: \"${trialSpec.Name}\"}]");
  put("resources:",
      R"(env: [{name: RATE, value: "${trialParameters.learningRate}"}, {name: A, value: b}], resources:)");
  const ImportRun katib = ImportAndPlan(folder, "katib", experiment);
  CHECK(katib.job["trainer"]["environment"] == json({{"A", "b"}}));
  for (const char* part :
       {"env.RATE: hyperparameters are passed as arguments", "trialParameters.me", "metricStrategies"})
    CHECK_THAT(katib.left_out, Catch::Contains(part));
  const ImportRun sweep = ImportAndPlan(folder, "wandb", R"yaml(
method: random
run_cap: 3
parameters: {lr: {min: 0.001, max: 0.1}, far: {distribution: log_uniform, min: 0, max: 1000}}
)yaml");
  CHECK(sweep.job["trainer"]["command"] == json({"python3", "train.py"}));
  CHECK_THAT(sweep.left_out, Catch::Contains("program: is missing") && Catch::Contains("parameters.far"));
}

TEST_CASE("import: numbers that no integer can be stay within a job file's", "[cli]") {
  const TempFolder folder;
  std::ofstream(folder.file("given")) << R"({"n_trials": 1e300, "distributions": {
    "x": {"name": "IntDistribution", "attributes": {"low": 1e300, "high": 2e300, "step": 1e300}}}})";
  const Result result = RunWinnow({"import", "optuna", folder.file("given")}, "");
  INFO(result.err);
  CHECK_THAT(result.err, Catch::Contains("direction: is missing; the goal is MINIMIZE"));
  CHECK(result.code == 0);
  CHECK(json::parse(result.out)["limits"]["max_trials"] == 9000000000000000000);
}

TEST_CASE("import: what is none of these files says what was expected", "[cli]") {
  const TempFolder folder;
  std::ofstream(folder.file("given")) << "a: [b, {c: d}]";
  for (const char* program : {"sagemaker", "katib", "wandb", "ray", "optuna"}) {
    const Result result = RunWinnow({"import", program, folder.file("given")}, "");
    CHECK(result.code == 1);
    CHECK_THAT(result.err, Catch::Contains("expected"));
  }
  std::ofstream(folder.file("given")) << "a: [b";
  CHECK_THAT(RunWinnow({"import", "katib", folder.file("given")}, "").err,
             Catch::Contains("neither JSON nor YAML"));
  for (const std::string& file : {std::string("/nonexistent"), folder.path().string()})
    CHECK_THAT(RunWinnow({"import", "katib", file}, "").err, Catch::Contains(file + ": cannot be read: "));
}

}  // namespace winnow
