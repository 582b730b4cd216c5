#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/imports/imported_job.h"

namespace winnow::cli::imports {
namespace {

constexpr double kLogRatio = 100;  // as the server's endpoint reads the scaling Auto
constexpr double kConvergenceTolerance = 0.01;

std::string CsvCell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + "\"";
}

// SDKs write texts for scripts as JSON, "\"adam\"", and the service's images take them as text.
std::string DecodedText(const std::string& text) {
  const OrderedJson value = OrderedJson::parse(text, nullptr, false);
  return value.is_string() ? value.get<std::string>() : text;
}

std::string RepositoryOf(const std::string& image) {
  const size_t slash = image.rfind('/');
  const std::string name = slash == std::string::npos ? image : image.substr(slash + 1);
  return name.substr(0, name.find_first_of(":@"));
}

void AddRanges(const OrderedJson& ranges, ImportedJob& imported) {
  OrderedJson& parameters = imported.job["parameters"];
  for (const bool integer : {true, false}) {
    for (const OrderedJson& range :
         MemberOf(ranges, integer ? "IntegerParameterRanges" : "ContinuousParameterRanges")) {
      double least = 0, most = 0;
      const std::string name = TextOf(range, "Name");
      if (!NumberOf(MemberOf(range, "MinValue"), least) || !NumberOf(MemberOf(range, "MaxValue"), most)) {
        imported.LeaveOut("ParameterRanges." + name, "its ends are no numbers");
        continue;
      }
      const std::string scaling = TextOf(range, "ScalingType");
      const bool log = scaling == "Logarithmic" || (scaling != "Linear" && scaling != "ReverseLogarithmic" &&
                                                    least > 0 && most / least >= kLogRatio);
      parameters.push_back(NumberParameter(name, integer, least, most,
                                           log                               ? "LOG"
                                           : scaling == "ReverseLogarithmic" ? "REVERSE_LOG"
                                                                             : ""));
    }
  }
  for (const OrderedJson& range : MemberOf(ranges, "CategoricalParameterRanges")) {
    OrderedJson values = OrderedJson::array();
    for (const OrderedJson& value : MemberOf(range, "Values"))
      values.push_back(value.is_string() ? OrderedJson(DecodedText(value.get<std::string>())) : value);
    parameters.push_back({{"name", TextOf(range, "Name")}, {"categorical", {{"values", values}}}});
  }
  for (const OrderedJson& range : MemberOf(ranges, "AutoParameters"))
    imported.LeaveOut("AutoParameters." + TextOf(range, "Name"), "write a range");
}

void AddChannels(const OrderedJson& definition, bool builtin, ImportedJob& imported) {
  for (const OrderedJson& channel : MemberOf(definition, "InputDataConfig")) {
    const OrderedJson& source = MemberOf(channel, "DataSource");
    const OrderedJson& s3 = MemberOf(source, "S3DataSource");
    const std::string name = TextOf(channel, "ChannelName");
    OrderedJson& added = imported.job["channels"][name];
    added["path"] =
        s3.empty() ? TextOf(MemberOf(source, "FileSystemDataSource"), "DirectoryPath") : TextOf(s3, "S3Uri");
    if (builtin && TextOf(channel, "ContentType").find("csv") != std::string::npos) {
      added["format"] = "csv";
      added["header"] = "no";
      added["label"] = "0";
    } else if (builtin) {
      added["format"] = "libsvm";
    }
    if (TextOf(s3, "S3DataDistributionType") == "ShardedByS3Key") added["distribution"] = "sharded";
    if (!TextOf(s3, "S3DataType").empty() && TextOf(s3, "S3DataType") != "S3Prefix")
      imported.LeaveOut("InputDataConfig." + name + ".S3DataType", "is not offered; name the objects");
    imported.LeaveOut(
        "InputDataConfig." + name,
        "workers need credentials for it; a prefix that stands for several objects ends in a slash");
  }
}

// What a training job may take, and has in its environment.
void AddDefinitionLimits(const OrderedJson& definition, ImportedJob& imported) {
  OrderedJson& job = imported.job;
  const OrderedJson& stopping = MemberOf(definition, "StoppingCondition");
  if (MemberOf(stopping, "MaxRuntimeInSeconds").is_number())
    job["limits"]["max_attempt_time"] = TextOf(stopping, "MaxRuntimeInSeconds") + "s";
  imported.LeaveOutOthers(stopping, {"MaxRuntimeInSeconds"}, "TrainingJobDefinition.StoppingCondition",
                          "has no meaning here");
  double retries = 0;
  if (NumberOf(MemberOf(MemberOf(definition, "RetryStrategy"), "MaximumRetryAttempts"), retries))
    job["limits"]["max_attempts"] = WholeOf(retries) + 1;
  for (const auto& [name, value] : MemberOf(definition, "Environment").items())
    job["trainer"]["environment"][name] = value;
}

// When the search ends by itself.
void AddCompletion(const OrderedJson& criteria, ImportedJob& imported) {
  OrderedJson completion = OrderedJson::object();
  const OrderedJson& target = MemberOf(criteria, "TargetObjectiveMetricValue");
  if (target.is_number()) completion["target_objective"] = target;
  const OrderedJson& same =
      MemberOf(MemberOf(criteria, "BestObjectiveNotImproving"), "MaxNumberOfTrainingJobsNotImproving");
  if (same.is_number()) completion["no_improvement_trials"] = same;
  if (TextOf(MemberOf(criteria, "ConvergenceDetected"), "CompleteOnConvergence") == "Enabled")
    completion["convergence_tolerance"] = kConvergenceTolerance;
  if (!completion.empty()) imported.job["completion"] = completion;
  imported.LeaveOutOthers(criteria,
                          {"TargetObjectiveMetricValue", "BestObjectiveNotImproving", "ConvergenceDetected"},
                          "TuningJobCompletionCriteria", "is not offered; see completion");
}

// XGBoost's image evaluates the metric of "validation:auc" also if eval_metric does not have it.
void EvaluateObjective(const std::string& metric, OrderedJson& job) {
  const std::string own = metric.substr(metric.find(':') + 1);
  const std::string given = TextOf(MemberOf(job, "static_hyperparameters"), "eval_metric");
  if (own.empty() || ("," + given + ",").find("," + own + ",") != std::string::npos) return;
  job["static_hyperparameters"]["eval_metric"] = given.empty() ? own : given + "," + own;
}

// A table of the finished training jobs, for a warm start. `definition`: only its own; "": all.
std::string TableOf(const OrderedJson& training_jobs, const OrderedJson& parameters,
                    const std::string& definition) {
  std::string table = "objective";
  for (const OrderedJson& parameter : parameters) table += "," + CsvCell(TextOf(parameter, "name"));
  table += "\n";
  bool any = false;
  for (const OrderedJson& job : MemberOf(training_jobs, "TrainingJobSummaries")) {
    const OrderedJson& value =
        MemberOf(MemberOf(job, "FinalHyperParameterTuningJobObjectiveMetric"), "Value");
    if (!value.is_number()) continue;
    if (!definition.empty() && TextOf(job, "TrainingJobDefinitionName") != definition) continue;
    any = true;
    table += value.dump();
    for (const OrderedJson& parameter : parameters)
      table += "," +
               CsvCell(DecodedText(TextOf(MemberOf(job, "TunedHyperParameters"), TextOf(parameter, "name"))));
    table += "\n";
  }
  return any ? table : "";
}

// Where the definition of this name is among several; "": the first.
absl::StatusOr<size_t> PlaceOf(const OrderedJson& several, const std::string& definition) {
  std::string names;
  for (size_t i = 0; several.is_array() && i < several.size(); ++i) {
    const std::string name = TextOf(several[i], "DefinitionName");
    if (definition.empty() || name == definition) return i;
    names += (i == 0 ? "" : ", ") + name;
  }
  if (definition.empty()) return 0;
  return absl::InvalidArgumentError(
      fmt::format("--definition: \"{}\" is none of its training job definitions; expected {}", definition,
                  names.empty() ? "none, because it has only one" : "one of " + names));
}

// An equal part of `total`; the first ones have what remains.
int64_t ShareOf(int64_t total, size_t count, size_t place) {
  const auto parts = static_cast<int64_t>(count);
  return total / parts + (static_cast<int64_t>(place) < total % parts ? 1 : 0);
}

// The job of one of several definitions has its part of the limits; the others are named.
void TakePart(const OrderedJson& several, size_t place, ImportedJob& imported) {
  OrderedJson& job = imported.job;
  job["name"] = TextOf(job, "name") + "-" + TextOf(several[place], "DefinitionName");
  for (const char* limit : {"max_trials", "max_parallel_trials"}) {
    const OrderedJson& value = MemberOf(MemberOf(job, "limits"), limit);
    if (value.is_number_integer())
      job["limits"][limit] = std::max<int64_t>(1, ShareOf(value.get<int64_t>(), several.size(), place));
  }
  for (size_t i = 0; i < several.size(); ++i) {
    const std::string name = TextOf(several[i], "DefinitionName");
    if (i != place)
      imported.LeaveOut("TrainingJobDefinitions." + name,
                        "is a job of its own; import it with --definition " + name);
  }
}

}  // namespace

absl::StatusOr<ImportedJob> ImportSagemakerJob(const OrderedJson& described, const OrderedJson& training_jobs,
                                               const std::string& definition_name) {
  const OrderedJson& config = MemberOf(described, "HyperParameterTuningJobConfig");
  if (!described.is_object() || config.empty())
    return absl::InvalidArgumentError(
        "it is no tuning job; expected what `aws sagemaker describe-hyper-parameter-tuning-job` prints");
  ImportedJob imported;
  OrderedJson& job = imported.job;
  const OrderedJson& several = MemberOf(described, "TrainingJobDefinitions");
  const bool listed = several.is_array() && !several.empty();
  const absl::StatusOr<size_t> place = PlaceOf(several, definition_name);
  if (!place.ok()) return place.status();
  const OrderedJson& definition = listed ? several[*place] : MemberOf(described, "TrainingJobDefinition");
  job["name"] = TextOf(described, "HyperParameterTuningJobName");
  const std::string image = TextOf(MemberOf(definition, "AlgorithmSpecification"), "TrainingImage");
  const std::string repository = RepositoryOf(image);
  const OrderedJson& statics = MemberOf(definition, "StaticHyperParameters");
  const bool builtin = (repository == "xgboost" || repository == "sagemaker-xgboost") &&
                       !statics.contains("sagemaker_program");
  OrderedJson& trainer = job["trainer"];
  if (builtin) {
    trainer["builtin"] = "gbdt";
  } else {
    trainer["command"] = {"python3", "train.py"};
    trainer["metrics"] = OrderedJson::array();
    for (const OrderedJson& metric :
         MemberOf(MemberOf(definition, "AlgorithmSpecification"), "MetricDefinitions"))
      trainer["metrics"].push_back({{"name", TextOf(metric, "Name")}, {"regex", TextOf(metric, "Regex")}});
    imported.LeaveOut(
        "AlgorithmSpecification.TrainingImage",
        image +
            " is not known; trainer.command has to be written, or send the job to winnow-server --sagemaker");
  }
  AddChannels(definition, builtin, imported);
  for (const auto& [name, value] : statics.items()) {
    if (name != "_tuning_objective_metric" && !name.starts_with("sagemaker_"))
      job["static_hyperparameters"][name] =
          value.is_string() ? OrderedJson(DecodedText(value.get<std::string>())) : value;
  }
  job["parameters"] = OrderedJson::array();
  const OrderedJson& own_ranges = MemberOf(definition, "HyperParameterRanges");
  AddRanges(own_ranges.empty() ? MemberOf(config, "ParameterRanges") : own_ranges, imported);
  const OrderedJson& own = MemberOf(definition, "TuningObjective");
  const OrderedJson& objective = own.empty() ? MemberOf(config, "HyperParameterTuningJobObjective") : own;
  job["objective"] = {{"metric", TextOf(objective, "MetricName")},
                      {"goal", TextOf(objective, "Type") == "Minimize" ? "MINIMIZE" : "MAXIMIZE"},
                      {"value", "LAST"}};
  static const auto* const strategies = new std::map<std::string, std::string>{
      {"Random", "RANDOM"}, {"Grid", "GRID"}, {"Hyperband", "HYPERBAND"}, {"Bayesian", "BAYESIAN"}};
  const auto strategy = strategies->find(TextOf(config, "Strategy"));
  job["strategy"] = strategy == strategies->end() ? "BAYESIAN" : strategy->second;
  const OrderedJson& hyperband = MemberOf(MemberOf(config, "StrategyConfig"), "HyperbandStrategyConfig");
  for (const auto& [theirs, ours] :
       {std::pair("MinResource", "min_resource"), std::pair("MaxResource", "max_resource")}) {
    if (MemberOf(hyperband, theirs).is_number()) job["hyperband"][ours] = hyperband[theirs];
  }
  if (TextOf(config, "TrainingJobEarlyStoppingType") == "Auto") job["pruner"] = {{"kind", "MEDIAN"}};
  const OrderedJson& limits = MemberOf(config, "ResourceLimits");
  for (const auto& [theirs, ours] : {std::pair("MaxNumberOfTrainingJobs", "max_trials"),
                                     std::pair("MaxParallelTrainingJobs", "max_parallel_trials")}) {
    if (MemberOf(limits, theirs).is_number()) job["limits"][ours] = limits[theirs];
  }
  if (MemberOf(limits, "MaxRuntimeInSeconds").is_number())
    job["limits"]["max_wall_time"] = TextOf(limits, "MaxRuntimeInSeconds") + "s";
  AddCompletion(MemberOf(config, "TuningJobCompletionCriteria"), imported);
  if (MemberOf(config, "RandomSeed").is_number()) job["seed"] = config["RandomSeed"];
  const OrderedJson& resources = MemberOf(definition, "HyperParameterTuningResourceConfig");
  const OrderedJson& count =
      MemberOf(resources.empty() ? MemberOf(definition, "ResourceConfig") : resources, "InstanceCount");
  if (count.is_number_integer() && count.get<int64_t>() > 1) job["cluster"]["nodes"] = count;
  imported.LeaveOut("ResourceConfig", "what each trial needs of a host is said in cluster");
  AddDefinitionLimits(definition, imported);
  if (builtin) EvaluateObjective(TextOf(objective, "MetricName"), job);
  if (described.contains("WarmStartConfig"))
    imported.LeaveOut("WarmStartConfig", "import the parents with their training jobs too");
  imported.LeaveOutOthers(
      definition,
      {"AlgorithmSpecification", "StaticHyperParameters", "InputDataConfig", "HyperParameterRanges",
       "TuningObjective", "ResourceConfig", "HyperParameterTuningResourceConfig", "DefinitionName",
       "StoppingCondition", "RetryStrategy", "Environment"},
      "TrainingJobDefinition", "has no meaning here");
  const bool one_of_several = listed && several.size() > 1;
  if (one_of_several) TakePart(several, *place, imported);
  imported.earlier_results =
      TableOf(training_jobs, job["parameters"], one_of_several ? TextOf(definition, "DefinitionName") : "");
  return imported;
}

}  // namespace winnow::cli::imports
