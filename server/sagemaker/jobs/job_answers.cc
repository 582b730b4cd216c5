#include "server/sagemaker/jobs/job_answers.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/sagemaker/jobs/follower.h"
#include "server/sagemaker/jobs/job_spec.h"
#include "server/sagemaker/jobs/training_image.h"

namespace winnow {
namespace {

using nlohmann::json;

// The metrics of XGBoost's image, as the service defines them.
json BuiltinMetrics() {
  json definitions = json::array();
  for (const char* data : {"train", "validation"}) {
    for (const char* metric : {"mae", "auc", "merror", "error", "logloss", "rmse", "mlogloss", "ndcg", "map",
                               "accuracy", "f1", "mse"}) {
      definitions.push_back(
          {{"Name", fmt::format("{}:{}", data, metric)},
           {"Regex", fmt::format(".*\\[[0-9]+\\].*#011{}-{}:([-+]?[0-9]*\\.?[0-9]+(?:[eE][-+]?[0-9]+)?).*",
                                 data, metric)}});
    }
  }
  return definitions;
}

json AlgorithmOf(const json& definition) {
  json algorithm = ObjectIn(definition, "AlgorithmSpecification");
  if (!algorithm.contains("MetricDefinitions") || algorithm["MetricDefinitions"].empty())
    algorithm["MetricDefinitions"] =
        IsXgboost(TextIn(algorithm, "TrainingImage")) ? BuiltinMetrics() : json::array();
  return algorithm;
}

json OutputOf(const json& definition) {
  json output = ObjectIn(definition, "OutputDataConfig");
  if (!output.contains("KmsKeyId")) output["KmsKeyId"] = "";
  if (!output.contains("CompressionType")) output["CompressionType"] = "GZIP";
  return output;
}

// What clients expect of ResourceConfig, also where the request says it in another way.
json ResourcesOf(const json& definition) {
  json resources = ObjectIn(definition, "ResourceConfig");
  const json& tuning = ObjectIn(definition, "HyperParameterTuningResourceConfig");
  const json* from = &tuning;
  if (tuning.contains("InstanceConfigs") && !tuning["InstanceConfigs"].empty())
    from = &tuning["InstanceConfigs"][0];
  for (const char* name : {"InstanceType", "InstanceCount", "VolumeSizeInGB"}) {
    if (!resources.contains(name) && from->contains(name)) resources[name] = (*from)[name];
  }
  if (!resources.contains("InstanceType")) resources["InstanceType"] = "ml.m5.xlarge";
  if (!resources.contains("InstanceCount")) resources["InstanceCount"] = 1;
  if (!resources.contains("VolumeSizeInGB")) resources["VolumeSizeInGB"] = 30;
  return resources;
}

json ResultOf(const SagemakerJob& row) {
  return row.result.empty() ? json::object() : json::parse(row.result);
}

// Which definition of its tuning job a training job is of.
size_t DefinitionIndex(const json& result) { return result.value("definition", size_t{0}); }

json TunedOf(const SagemakerJob& row) {
  const json result = ResultOf(row);
  return result.contains("tuned") ? result["tuned"] : json::object();
}

void AddTimes(const SagemakerJob& row, const char* end, json& answer) {
  answer["CreationTime"] = SecondsOf(row.created_us);
  if (row.ended_us != 0) answer[end] = SecondsOf(row.ended_us);
  answer["LastModifiedTime"] = SecondsOf(row.modified_us);
}

json Transitions(const SagemakerJob& row) {
  json transitions = json::array();
  const auto add = [&](const char* status, int64_t from, int64_t to, const char* message) {
    json transition = {{"Status", status}, {"StartTime", SecondsOf(from)}, {"StatusMessage", message}};
    if (to != 0) transition["EndTime"] = SecondsOf(to);
    transitions.push_back(std::move(transition));
  };
  add("Starting", row.created_us, row.started_us != 0 ? row.started_us : row.ended_us,
      "Preparing the instances for training");
  if (row.started_us != 0)
    add("Training", row.started_us, row.ended_us, "Training image download completed. Training in progress.");
  if (row.ended_us != 0)
    add(row.secondary.c_str(), row.ended_us, row.ended_us,
        row.status == "Completed" ? "Training job completed"
        : row.status == "Failed"  ? "Training job failed"
                                  : "Training job stopped");
  return transitions;
}

json CountersOf(const StatusCounts& children, json& objectives) {
  const auto count = [&](const std::string& name) {
    const auto found = children.find(name);
    return found == children.end() ? int64_t{0} : found->second;
  };
  const int64_t ended = count("Completed") + count("Failed") + count("Stopped");
  const int64_t succeeded =
      count("Completed+objective") + count("Failed+objective") + count("Stopped+objective");
  const int64_t running = count("InProgress") + count("Stopping");
  objectives = {{"Succeeded", succeeded}, {"Pending", running}, {"Failed", ended - succeeded}};
  return {{"Completed", count("Completed")},
          {"InProgress", running},
          {"RetryableError", 0},
          {"NonRetryableError", count("Failed")},
          {"Stopped", count("Stopped")}};
}

json WithAllRanges(json ranges) {
  for (const char* name :
       {"IntegerParameterRanges", "ContinuousParameterRanges", "CategoricalParameterRanges"}) {
    if (!ranges.contains(name) || !ranges[name].is_array()) ranges[name] = json::array();
  }
  return ranges;
}

json EchoedDefinition(const json& request, size_t index) {
  json definition = DefinitionOf(request, index);
  const json& objective = ObjectiveOf(request, index);
  definition["StaticHyperParameters"]["_tuning_objective_metric"] = TextIn(objective, "MetricName");
  definition["AlgorithmSpecification"] = AlgorithmOf(definition);
  definition["OutputDataConfig"] = OutputOf(definition);
  definition["ResourceConfig"] = ResourcesOf(definition);
  if (definition.contains("HyperParameterRanges"))
    definition["HyperParameterRanges"] = WithAllRanges(definition["HyperParameterRanges"]);
  for (const char* name :
       {"EnableNetworkIsolation", "EnableInterContainerTrafficEncryption", "EnableManagedSpotTraining"}) {
    if (!definition.contains(name)) definition[name] = false;
  }
  return definition;
}

// Members of requests that are given back as they came.
void Echo(const json& request, std::initializer_list<const char*> names, json& answer) {
  for (const char* name : names) {
    const auto found = request.find(name);
    if (found != request.end() && !found->is_null()) answer[name] = *found;
  }
}

}  // namespace

double SecondsOf(int64_t us) { return static_cast<double>(us / 1000) / 1000; }

json DescribeTraining(const SagemakerJob& row, const json& request, const SagemakerJob* parent) {
  const json result = ResultOf(row);
  const size_t index = DefinitionIndex(result);
  const json& definition = parent == nullptr ? request : DefinitionOf(request, index);
  json answer;
  answer["TrainingJobName"] = row.name;
  answer["TrainingJobArn"] = ArnOf(row);
  if (parent != nullptr) answer["TuningJobArn"] = ArnOf(*parent);
  answer["ModelArtifacts"]["S3ModelArtifacts"] =
      ModelUri(definition["OutputDataConfig"]["S3OutputPath"], row.name);
  answer["TrainingJobStatus"] = row.status;
  answer["SecondaryStatus"] = row.secondary;
  if (row.status == "Failed") answer["FailureReason"] = TextIn(result, "reason", "The training failed.");
  json hyperparameters =
      ObjectIn(definition, parent == nullptr ? "HyperParameters" : "StaticHyperParameters");
  if (parent != nullptr) {
    hyperparameters.update(TunedOf(row));
    hyperparameters["_tuning_objective_metric"] = TextIn(ObjectiveOf(request, index), "MetricName");
  }
  answer["HyperParameters"] = std::move(hyperparameters);
  answer["AlgorithmSpecification"] = AlgorithmOf(definition);
  answer["OutputDataConfig"] = OutputOf(definition);
  answer["ResourceConfig"] = ResourcesOf(definition);
  answer["StoppingCondition"] = ObjectIn(definition, "StoppingCondition");
  if (!answer["StoppingCondition"].contains("MaxRuntimeInSeconds"))
    answer["StoppingCondition"]["MaxRuntimeInSeconds"] = 86'400;
  Echo(definition,
       {"RoleArn", "InputDataConfig", "VpcConfig", "CheckpointConfig", "RetryStrategy", "Environment",
        "DebugHookConfig", "DebugRuleConfigurations", "TensorBoardOutputConfig", "ExperimentConfig",
        "ProfilerConfig", "ProfilerRuleConfigurations", "RemoteDebugConfig", "InfraCheckConfig"},
       answer);
  for (const char* name :
       {"EnableNetworkIsolation", "EnableInterContainerTrafficEncryption", "EnableManagedSpotTraining"})
    answer[name] = definition.value(name, false);
  AddTimes(row, "TrainingEndTime", answer);
  if (row.started_us != 0) answer["TrainingStartTime"] = SecondsOf(row.started_us);
  if (row.ended_us != 0 && row.started_us != 0) {
    const int64_t seconds = std::max<int64_t>(1, (row.ended_us - row.started_us + 500'000) / 1'000'000);
    answer["TrainingTimeInSeconds"] = seconds;
    answer["BillableTimeInSeconds"] = seconds;
  }
  answer["SecondaryStatusTransitions"] = Transitions(row);
  if (result.contains("metrics") && !result["metrics"].empty())
    answer["FinalMetricDataList"] = result["metrics"];
  return answer;
}

json SummaryOfTraining(const SagemakerJob& row) {
  json summary = {{"TrainingJobName", row.name},
                  {"TrainingJobArn", ArnOf(row)},
                  {"TrainingJobStatus", row.status},
                  {"SecondaryStatus", row.secondary}};
  AddTimes(row, "TrainingEndTime", summary);
  return summary;
}

json SummaryOfChild(const SagemakerJob& row, const json& tuning_request) {
  const size_t index = DefinitionIndex(ResultOf(row));
  const json& objective = ObjectiveOf(tuning_request, index);
  json summary = {{"TrainingJobName", row.name},     {"TrainingJobArn", ArnOf(row)},
                  {"TuningJobName", row.parent},     {"CreationTime", SecondsOf(row.created_us)},
                  {"TrainingJobStatus", row.status}, {"TunedHyperParameters", TunedOf(row)}};
  const std::string definition = TextIn(DefinitionOf(tuning_request, index), "DefinitionName");
  if (!definition.empty()) summary["TrainingJobDefinitionName"] = definition;
  if (row.started_us != 0) summary["TrainingStartTime"] = SecondsOf(row.started_us);
  if (row.ended_us != 0) summary["TrainingEndTime"] = SecondsOf(row.ended_us);
  if (row.status == "Failed")
    summary["FailureReason"] = TextIn(ResultOf(row), "reason", "The training failed.");
  if (row.objective) {
    summary["FinalHyperParameterTuningJobObjectiveMetric"] = {{"Type", TextIn(objective, "Type")},
                                                              {"MetricName", TextIn(objective, "MetricName")},
                                                              {"Value", *row.objective}};
  }
  summary["ObjectiveStatus"] = !row.ended() ? "Pending" : row.objective ? "Succeeded" : "Failed";
  return summary;
}

json DescribeTuning(const SagemakerJob& row, const json& request, const StatusCounts& children,
                    const std::optional<SagemakerJob>& best) {
  json config = request["HyperParameterTuningJobConfig"];
  if (config.contains("ParameterRanges") || !DefinitionOf(request, 0).contains("HyperParameterRanges"))
    config["ParameterRanges"] = WithAllRanges(ObjectIn(config, "ParameterRanges"));
  if (!config.contains("TrainingJobEarlyStoppingType")) config["TrainingJobEarlyStoppingType"] = "Off";
  json answer = {{"HyperParameterTuningJobName", row.name},
                 {"HyperParameterTuningJobArn", ArnOf(row)},
                 {"HyperParameterTuningJobConfig", config},
                 {"HyperParameterTuningJobStatus", row.status}};
  if (request.contains("TrainingJobDefinitions")) {
    for (size_t i = 0; i < DefinitionCount(request); ++i)
      answer["TrainingJobDefinitions"].push_back(EchoedDefinition(request, i));
  } else {
    answer["TrainingJobDefinition"] = EchoedDefinition(request, 0);
  }
  AddTimes(row, "HyperParameterTuningEndTime", answer);
  json objectives;
  answer["TrainingJobStatusCounters"] = CountersOf(children, objectives);
  answer["ObjectiveStatusCounters"] = std::move(objectives);
  if (best) answer["BestTrainingJob"] = SummaryOfChild(*best, request);
  Echo(request, {"WarmStartConfig", "Autotune"}, answer);
  if (row.status == "Failed")
    answer["FailureReason"] = TextIn(ResultOf(row), "reason", "No training job succeeded.");
  if (row.ended_us != 0)
    answer["ConsumedResources"]["RuntimeInSeconds"] = (row.ended_us - row.created_us) / 1'000'000;
  return answer;
}

json SummaryOfTuning(const SagemakerJob& row, const json& request, const StatusCounts& children) {
  const json& config = request["HyperParameterTuningJobConfig"];
  json summary = {{"HyperParameterTuningJobName", row.name},
                  {"HyperParameterTuningJobArn", ArnOf(row)},
                  {"HyperParameterTuningJobStatus", row.status},
                  {"Strategy", config["Strategy"]},
                  {"ResourceLimits", config["ResourceLimits"]}};
  AddTimes(row, "HyperParameterTuningEndTime", summary);
  json objectives;
  summary["TrainingJobStatusCounters"] = CountersOf(children, objectives);
  summary["ObjectiveStatusCounters"] = std::move(objectives);
  return summary;
}

}  // namespace winnow
