#include "server/sagemaker/jobs/job_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "base/status_text.h"
#include "server/sagemaker/jobs/autotune.h"
#include "server/sagemaker/jobs/script_spec.h"
#include "server/sagemaker/jobs/training_image.h"
#include "server/sagemaker/wire/aws_error.h"
#include "server/sagemaker/wire/aws_request.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"

namespace winnow {
namespace {

using nlohmann::json;

constexpr char kObjectiveHyperparameter[] = "_tuning_objective_metric";
constexpr int64_t kMostHyperbandResource = 20'000;
// From this ratio of its ends on, a range with the scaling Auto is searched on a logarithmic scale.
constexpr double kLogRatio = 100;
// XGBoost's subsample is above 0; a range that begins there begins here.
constexpr double kLeastSubsample = 1e-6;
constexpr double kConvergenceTolerance = 0.01;
constexpr char kMetricRequired[] =
    "A metric is required for this hyperparameter tuning job objective. Provide a metric in the metric "
    "definitions.";

absl::Status Invalid(const std::string& message) { return AwsError("ValidationException", message); }

int64_t IntegerIn(const json& object, const char* member, int64_t otherwise) {
  const auto found = object.find(member);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : otherwise;
}

// ---- channels

absl::StatusOr<std::string> FindObjects(const std::string& uri, const SpecContext& context) {
  std::string bucket, key;
  if (!SplitS3Uri(uri, bucket, key)) {
    std::string_view path = uri;
    ConsumeFront(path, "file://");
    if (path.starts_with('/')) return std::string(path);  // of the workers' hosts
    return Invalid("The S3 URI " + uri +
                   " is not offered here; expected s3://BUCKET/KEY, file:///PATH or /PATH.");
  }
  const auto page = context.objects.List(context.account, bucket, key, "", "", 2);
  if (!page.ok())
    return AwsCodeOf(page.status()) == "NoSuchBucket" ? Invalid(MessageOf(page.status())) : page.status();
  if (page->entries.empty()) {
    return Invalid(
        fmt::format("No S3 objects found under S3 URL \"{}\" given in input data source. Please ensure "
                    "that the bucket exists in the selected region, that objects exist under that S3 "
                    "prefix, and that the role has \"s3:ListBucket\" permissions on bucket \"{}\".",
                    uri, bucket));
  }
  const std::string& first = page->entries[0].object.key;
  if (first == key || page->entries.size() == 1) return "s3://" + bucket + "/" + first;
  if (key.empty() || key.ends_with('/')) return "s3://" + bucket + "/" + key;
  if (first.starts_with(key + "/")) return "s3://" + bucket + "/" + key + "/";
  return Invalid(
      fmt::format("The S3 URI {} is the beginning of the names of several objects; here a prefix has to end "
                  "at a slash.",
                  uri));
}

absl::Status AddBuiltinFormat(const std::string& name, const json& channel, v1::Channel& added) {
  std::string type = Lowered(TextIn(channel, "ContentType", "text/libsvm"));
  type = std::string(WithoutBlanks(std::string_view(type).substr(0, type.find(';'))));
  if (type == "text/csv" || type == "csv") {
    added.set_format("csv");
    added.set_header("no");
    added.set_label("0");
  } else if (type == "text/libsvm" || type == "libsvm" || type == "text/x-libsvm") {
    added.set_format("libsvm");
  } else {
    return Invalid(
        fmt::format("The content type {} of the channel {} is not offered here; expected text/csv or "
                    "text/libsvm.",
                    type, name));
  }
  return absl::OkStatus();
}

absl::Status AddChannels(const json& definition, bool builtin, int64_t nodes, const SpecContext& context,
                         v1::TuningJobSpec& spec) {
  const auto channels = definition.find("InputDataConfig");
  if (channels == definition.end()) return absl::OkStatus();
  const std::string mode = TextIn(ObjectIn(definition, "AlgorithmSpecification"), "TrainingInputMode");
  for (const json& channel : *channels) {
    const std::string name = channel["ChannelName"];
    const json& source = channel["DataSource"];
    const json& s3 = ObjectIn(source, "S3DataSource");
    v1::Channel added;
    if (!s3.empty()) {
      if (s3["S3DataType"] != "S3Prefix")
        return Invalid(
            fmt::format("The S3DataType {} of the channel {} is not offered here; expected S3Prefix.",
                        s3["S3DataType"].get<std::string>(), name));
      const absl::StatusOr<std::string> path = FindObjects(s3["S3Uri"], context);
      if (!path.ok()) return path.status();
      added.set_path(*path);
      if (path->starts_with("s3://")) added.set_endpoint(context.endpoint);
      if (nodes > 1 && TextIn(s3, "S3DataDistributionType") == "ShardedByS3Key")
        added.set_distribution("sharded");
    } else if (const json& files = ObjectIn(source, "FileSystemDataSource"); !files.empty()) {
      added.set_path(files["DirectoryPath"].get<std::string>());
    } else {
      return Invalid(fmt::format("The channel {} needs one of S3DataSource and FileSystemDataSource.", name));
    }
    if (TextIn(channel, "InputMode", mode) == "Pipe") added.set_mode("pipe");
    if (TextIn(channel, "CompressionType", "None") != "None" ||
        TextIn(channel, "RecordWrapperType", "None") != "None")
      return Invalid(
          fmt::format("The compression or record wrapper of the channel {} is not offered here.", name));
    if (builtin) {
      if (absl::Status status = AddBuiltinFormat(name, channel, added); !status.ok()) return status;
    }
    if (!spec.mutable_channels()->insert({name, added}).second)
      return Invalid(fmt::format("The channel {} is given twice.", name));
  }
  return absl::OkStatus();
}

// ---- hyperparameters

std::string EvalMetricOf(const std::string& objective_metric) {
  const size_t colon = objective_metric.find(':');
  return colon == std::string::npos ? "" : objective_metric.substr(colon + 1);
}

// Adds the metric of "validation:auc" to those that are evaluated.
void Evaluate(const std::string& objective_metric, v1::TuningJobSpec& spec) {
  const std::string metric = EvalMetricOf(objective_metric);
  std::string& given = (*spec.mutable_static_hyperparameters())["eval_metric"];
  if (given.empty()) {
    given = metric;
  } else if (!absl::StrContains("," + given + ",", "," + metric + ",")) {
    given += "," + metric;
  }
}

void AddStatic(const json& hyperparameters, v1::TuningJobSpec& spec) {
  for (const auto& [name, value] : hyperparameters.items()) {
    if (name == kObjectiveHyperparameter || name.starts_with("sagemaker_")) continue;
    (*spec.mutable_static_hyperparameters())[name] = value.get<std::string>();
  }
}

// ---- what both kinds of jobs have

struct Shape {
  TrainingImage image;
  int64_t nodes = 1;
};

int64_t NodesOf(const json& definition) {
  const json& tuning = ObjectIn(definition, "HyperParameterTuningResourceConfig");
  const json& plain = ObjectIn(definition, "ResourceConfig");
  if (const auto configs = tuning.find("InstanceConfigs"); configs != tuning.end() && !configs->empty())
    return IntegerIn((*configs)[0], "InstanceCount", 1);
  return IntegerIn(tuning, "InstanceCount", IntegerIn(plain, "InstanceCount", 1));
}

absl::StatusOr<Shape> AddDefinition(const json& definition, const json& hyperparameters,
                                    const SpecContext& context, v1::TuningJobSpec& spec) {
  Shape shape;
  const json& algorithm = ObjectIn(definition, "AlgorithmSpecification");
  const std::string image = TextIn(algorithm, "TrainingImage");
  if (image.empty())
    return Invalid("AlgorithmSpecification.TrainingImage is needed here; AlgorithmName is not offered.");
  absl::StatusOr<TrainingImage> found = context.images.Find(image, hyperparameters);
  if (!found.ok()) return found.status();
  shape.image = *std::move(found);
  shape.nodes = NodesOf(definition);
  if (shape.nodes < 1 || shape.nodes > 64)
    return Invalid(fmt::format("InstanceCount is {}; expected 1 to 64.", shape.nodes));
  const json& stopping = ObjectIn(definition, "StoppingCondition");
  const bool spot = definition.value("EnableManagedSpotTraining", false);
  const int64_t seconds = IntegerIn(stopping, "MaxRuntimeInSeconds", 86'400);
  if (spot && IntegerIn(stopping, "MaxWaitTimeInSeconds", 0) < seconds)
    return Invalid(
        "Invalid MaxWaitTimeInSeconds. It must be present and be greater than or equal to "
        "MaxRuntimeInSeconds");
  if (!spot && stopping.contains("MaxWaitTimeInSeconds"))
    return Invalid("MaxWaitTimeInSeconds is given; expected it only with EnableManagedSpotTraining.");
  std::string bucket, key;
  if (!SplitS3Uri(definition["OutputDataConfig"]["S3OutputPath"], bucket, key))
    return Invalid("OutputDataConfig.S3OutputPath has to begin with s3:// here.");
  if (absl::Status status = context.objects.FindBucket(context.account, bucket); !status.ok()) {
    return AwsCodeOf(status) == "NoSuchBucket" ? Invalid(MessageOf(status)) : status;
  }
  v1::TrainerSpec& trainer = *spec.mutable_trainer();
  if (shape.image.builtin) trainer.set_builtin("gbdt");
  for (const auto& [name, value] : context.environment) (*trainer.mutable_environment())[name] = value;
  for (const auto& [name, value] : ObjectIn(definition, "Environment").items())
    (*trainer.mutable_environment())[name] = value.get<std::string>();
  AddStatic(hyperparameters, spec);
  if (absl::Status status = AddChannels(definition, shape.image.builtin, shape.nodes, context, spec);
      !status.ok())
    return status;
  spec.mutable_cluster()->set_nodes(static_cast<int32_t>(shape.nodes));
  spec.set_working_directory("/");
  const int64_t retries = IntegerIn(ObjectIn(definition, "RetryStrategy"), "MaximumRetryAttempts", 0);
  spec.mutable_limits()->set_max_attempts(1 + retries);
  spec.mutable_objective()->set_value(v1::ObjectiveSpec::LAST);
  return shape;
}

// ---- ranges

absl::StatusOr<double> NumberOf(const std::string& text, const std::string& name) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value))
    return Invalid(
        fmt::format("The value {} in the range of the hyperparameter {} is not a number.", text, name));
  return value;
}

absl::StatusOr<v1::Scaling> ScalingOf(const std::string& scaling, const std::string& name, double least,
                                      double most) {
  if (scaling == "Logarithmic") {
    if (least <= 0)
      return Invalid(fmt::format(
          "The minimum value of {} must be greater than 0 for the scaling type Logarithmic.", name));
    return v1::LOG;
  }
  if (scaling == "ReverseLogarithmic") {
    if (least < 0 || most >= 1)
      return Invalid(fmt::format(
          "The range of {} must be within 0 <= x < 1 for the scaling type ReverseLogarithmic.", name));
    return v1::REVERSE_LOG;
  }
  if (scaling == "Auto" && least > 0 && most / least >= kLogRatio) return v1::LOG;
  return v1::LINEAR;
}

absl::Status AddNumber(const json& range, bool integer, v1::TuningJobSpec& spec) {
  const std::string name = range["Name"];
  const absl::StatusOr<double> least = NumberOf(range["MinValue"], name);
  const absl::StatusOr<double> most = NumberOf(range["MaxValue"], name);
  if (!least.ok()) return least.status();
  if (!most.ok()) return most.status();
  if (*least > *most)
    return Invalid(fmt::format("The minimum value of {} is greater than its maximum value.", name));
  const absl::StatusOr<v1::Scaling> scaling =
      ScalingOf(TextIn(range, "ScalingType", "Auto"), name, *least, *most);
  if (!scaling.ok()) return scaling.status();
  v1::ParameterSpec& parameter = *spec.add_parameters();
  parameter.set_name(name);
  if (integer) {
    if (std::floor(*least) != *least || std::floor(*most) != *most || std::abs(*least) > 1e15 ||
        std::abs(*most) > 1e15)
      return Invalid(fmt::format("The range of the hyperparameter {} is not one of integers.", name));
    parameter.mutable_integer()->set_min(static_cast<int64_t>(*least));
    parameter.mutable_integer()->set_max(static_cast<int64_t>(*most));
    parameter.mutable_integer()->set_scaling(*scaling);
  } else {
    const bool above_zero = name == "subsample" && *least <= 0 && spec.trainer().builtin() == "gbdt";
    parameter.mutable_continuous()->set_min(above_zero ? kLeastSubsample : *least);
    parameter.mutable_continuous()->set_max(*most);
    parameter.mutable_continuous()->set_scaling(*scaling);
  }
  return absl::OkStatus();
}

const json& ListIn(const json& object, const char* member) {
  static const json* const empty = new json(json::array());
  const auto found = object.find(member);
  return found == object.end() || !found->is_array() ? *empty : *found;
}

// `combinations`: how many there are; infinite with a continuous range.
absl::Status AddRanges(const json& ranges, v1::TuningJobSpec& spec, double& combinations) {
  combinations = spec.parameters_size() > 0 ? INFINITY : 1;  // those that are there are automatic
  for (const json& range : ListIn(ranges, "IntegerParameterRanges")) {
    if (absl::Status status = AddNumber(range, true, spec); !status.ok()) return status;
    const v1::IntegerRange& added = spec.parameters(spec.parameters_size() - 1).integer();
    combinations *= static_cast<double>(added.max() - added.min() + 1);
  }
  for (const json& range : ListIn(ranges, "ContinuousParameterRanges")) {
    if (absl::Status status = AddNumber(range, false, spec); !status.ok()) return status;
    combinations = INFINITY;
  }
  for (const json& range : ListIn(ranges, "CategoricalParameterRanges")) {
    v1::ParameterSpec& parameter = *spec.add_parameters();
    parameter.set_name(range["Name"].get<std::string>());
    for (const json& value : range["Values"])
      parameter.mutable_categorical()->add_values(value.get<std::string>());
    combinations *= static_cast<double>(range["Values"].size());
  }
  std::set<std::string> names;
  for (const v1::ParameterSpec& parameter : spec.parameters()) {
    if (!names.insert(parameter.name()).second)
      return Invalid(fmt::format("The hyperparameter {} has two ranges.", parameter.name()));
    if (spec.static_hyperparameters().contains(parameter.name()))
      return Invalid(fmt::format("Hyperparameter {} is both static and tunable.", parameter.name()));
  }
  if (names.empty()) return Invalid("At least one hyperparameter range is needed, or Autotune.");
  return absl::OkStatus();
}

// ---- the search

absl::StatusOr<int64_t> MostResource(const json& config, const v1::TuningJobSpec& spec) {
  const json& hyperband = ObjectIn(ObjectIn(config, "StrategyConfig"), "HyperbandStrategyConfig");
  int64_t most = IntegerIn(hyperband, "MaxResource", 0);
  for (const char* name : {"epochs", "numepochs", "n-epochs", "n_epochs", "num_epochs"}) {
    const auto given = spec.static_hyperparameters().find(name);
    if (most == 0 && given != spec.static_hyperparameters().end() && !absl::SimpleAtoi(given->second, &most))
      most = 0;
  }
  if (most <= 0) {
    return Invalid(
        "MaxResource parameter is not provided and could not be inferred from provided static "
        "hyperparameters "
        "of TrainingJobDefinition.");
  }
  if (most > kMostHyperbandResource)
    return Invalid(fmt::format("MaxResource is {}; expected at most {}.", most, kMostHyperbandResource));
  if (IntegerIn(hyperband, "MinResource", 1) > most)
    return Invalid("MinResource must be less than or equal to MaxResource.");
  return most;
}

absl::Status AddSearch(const json& config, double combinations, v1::TuningJobSpec& spec) {
  const std::string strategy = config["Strategy"];
  const std::string early = TextIn(config, "TrainingJobEarlyStoppingType", "Off");
  v1::LimitsSpec& limits = *spec.mutable_limits();
  const json& given = config["ResourceLimits"];
  int64_t trials = IntegerIn(given, "MaxNumberOfTrainingJobs", 0);
  if (strategy != "Hyperband" && config.contains("StrategyConfig") && !config["StrategyConfig"].empty())
    return Invalid("StrategyConfig is given; expected it only with the strategy Hyperband.");
  if (strategy == "Hyperband") {
    if (early != "Off")
      return Invalid(
          "TrainingJobEarlyStoppingType must be Off with the strategy Hyperband, which stops training jobs "
          "early itself.");
    const absl::StatusOr<int64_t> most = MostResource(config, spec);
    if (!most.ok()) return most.status();
    const json& hyperband = ObjectIn(ObjectIn(config, "StrategyConfig"), "HyperbandStrategyConfig");
    spec.set_strategy(v1::HYPERBAND);
    spec.mutable_hyperband()->set_min_resource(IntegerIn(hyperband, "MinResource", 1));
    spec.mutable_hyperband()->set_max_resource(*most);
  } else if (strategy == "Grid") {
    for (const v1::ParameterSpec& parameter : spec.parameters()) {
      if (!parameter.has_categorical())
        return Invalid("The strategy Grid takes categorical hyperparameter ranges only.");
    }
    if (trials != 0 && static_cast<double>(trials) != combinations)
      return Invalid(fmt::format(
          "MaxNumberOfTrainingJobs is {}; expected it to be absent or the number of combinations, {}.",
          trials, combinations));
    spec.set_strategy(v1::GRID);
    trials = static_cast<int64_t>(combinations);
  } else {
    spec.set_strategy(strategy == "Random" ? v1::RANDOM : v1::BAYESIAN);
  }
  if (static_cast<double>(trials) > combinations) {
    return Invalid(
        fmt::format("You don't have enough combinations of hyperparameter ranges. The ranges have {} "
                    "combinations, which is less than MaxNumberOfTrainingJobs, {}.",
                    combinations, trials));
  }
  if (early == "Auto") spec.mutable_pruner()->set_kind(v1::PrunerSpec::MEDIAN);
  if (trials > 0) limits.set_max_trials(trials);
  limits.set_max_parallel_trials(IntegerIn(given, "MaxParallelTrainingJobs", 1));
  if (const int64_t seconds = IntegerIn(given, "MaxRuntimeInSeconds", 0); seconds > 0)
    limits.mutable_max_wall_time()->set_seconds(seconds);
  if (config.contains("RandomSeed")) spec.set_seed(config["RandomSeed"].get<uint64_t>());
  const json& criteria = ObjectIn(config, "TuningJobCompletionCriteria");
  if (criteria.contains("TargetObjectiveMetricValue"))
    spec.mutable_completion()->set_target_objective(criteria["TargetObjectiveMetricValue"].get<double>());
  if (const int64_t same = IntegerIn(ObjectIn(criteria, "BestObjectiveNotImproving"),
                                     "MaxNumberOfTrainingJobsNotImproving", 0);
      same > 0) {
    spec.mutable_completion()->set_no_improvement_trials(same);
  }
  if (TextIn(ObjectIn(criteria, "ConvergenceDetected"), "CompleteOnConvergence") == "Enabled")
    spec.mutable_completion()->set_convergence_tolerance(kConvergenceTolerance);
  return absl::OkStatus();
}

bool LargerIsBetter(const std::string& metric) {
  for (const char* name : {"auc", "aucpr", "map", "ndcg", "pre"}) {
    if (metric == name || metric.starts_with(std::string(name) + "@")) return true;
  }
  return false;
}

// A training job has no objective: the last of its metrics is what Winnow shows of it.
absl::Status AddOwnObjective(v1::TuningJobSpec& spec) {
  json given = json::object();
  for (const auto& [name, value] : spec.static_hyperparameters()) given[name] = value;
  std::vector<std::string> warnings;
  const auto parsed = gbdt::ParseHyperparameters(given.dump(), &warnings);
  if (!parsed.ok()) return Invalid(MessageOf(parsed.status()));
  const std::string metric = gbdt::MetricName(parsed->metrics.back());
  spec.mutable_objective()->set_metric((spec.channels().contains("validation") ? "validation:" : "train:") +
                                       metric);
  spec.mutable_objective()->set_goal(LargerIsBetter(metric) ? v1::MAXIMIZE : v1::MINIMIZE);
  return absl::OkStatus();
}

// A search of one configuration needs a hyperparameter.
void AddOnlyValue(const std::string& name, int64_t value, v1::TuningJobSpec& spec) {
  v1::ParameterSpec& single = *spec.add_parameters();
  single.set_name(name);
  single.mutable_integer()->set_min(value);
  single.mutable_integer()->set_max(value);
}

// One run of winnow-gbdt.
absl::Status AddOneRun(v1::TuningJobSpec& spec) {
  const auto rounds = spec.static_hyperparameters().find("num_round");
  int64_t count = 0;
  if (rounds == spec.static_hyperparameters().end() || !absl::SimpleAtoi(rounds->second, &count) || count < 1)
    return Invalid("The hyperparameter num_round is required: a whole number of at least 1.");
  if (absl::Status status = AddOwnObjective(spec); !status.ok()) return status;
  spec.mutable_static_hyperparameters()->erase("num_round");
  AddOnlyValue("num_round", count, spec);
  return absl::OkStatus();
}

bool DefinesMetric(const json& definition, const std::string& name) {
  for (const json& metric : ListIn(ObjectIn(definition, "AlgorithmSpecification"), "MetricDefinitions")) {
    if (metric["Name"] == name) return true;
  }
  return false;
}

}  // namespace

std::string TextIn(const json& object, const char* member, const std::string& otherwise) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

const json& ObjectIn(const json& object, const char* member) {
  static const json* const empty = new json(json::object());
  if (!object.is_object()) return *empty;
  const auto found = object.find(member);
  return found == object.end() || !found->is_object() ? *empty : *found;
}

const json& DefinitionOf(const json& tuning_request) {
  const json& single = ObjectIn(tuning_request, "TrainingJobDefinition");
  if (!single.empty() || !tuning_request.contains("TrainingJobDefinitions")) return single;
  return tuning_request["TrainingJobDefinitions"][0];
}

bool SplitS3Uri(const std::string& uri, std::string& bucket, std::string& key) {
  if (!uri.starts_with("s3://")) return false;
  const std::string rest = uri.substr(5);
  const size_t slash = rest.find('/');
  bucket = rest.substr(0, slash);
  key = slash == std::string::npos ? "" : rest.substr(slash + 1);
  return !bucket.empty();
}

absl::StatusOr<JobPlan> PlanTrainingJob(const json& request, const SpecContext& context) {
  JobPlan plan;
  v1::TuningJobSpec& spec = plan.spec;
  spec.set_name(request["TrainingJobName"].get<std::string>());
  const absl::StatusOr<Shape> shape =
      AddDefinition(request, ObjectIn(request, "HyperParameters"), context, spec);
  if (!shape.ok()) return shape.status();
  if (shape->image.builtin) {
    if (absl::Status status = AddOneRun(spec); !status.ok()) return status;
  } else {
    spec.mutable_objective()->set_metric(kOwnMetric);
    spec.mutable_objective()->set_goal(v1::MINIMIZE);
    AddOnlyValue("sagemaker_instance_count", shape->nodes, spec);
    absl::StatusOr<std::optional<ScriptCode>> code = AddScript(
        {spec.name(), false, request, ObjectIn(request, "HyperParameters"), shape->image, shape->nodes},
        context, spec);
    if (!code.ok()) return code.status();
    plan.code = *std::move(code);
  }
  spec.set_strategy(v1::RANDOM);
  spec.mutable_limits()->set_max_trials(1);
  const int64_t seconds = IntegerIn(ObjectIn(request, "StoppingCondition"), "MaxRuntimeInSeconds", 86'400);
  spec.mutable_limits()->set_max_node_seconds(static_cast<double>(seconds) *
                                              static_cast<double>(shape->nodes));
  return plan;
}

absl::StatusOr<JobPlan> PlanTuningJob(const json& request, const SpecContext& context) {
  const json& config = request["HyperParameterTuningJobConfig"];
  const bool several = request.contains("TrainingJobDefinitions");
  if (several == request.contains("TrainingJobDefinition"))
    return Invalid("Exactly one of TrainingJobDefinition and TrainingJobDefinitions is needed.");
  if (several && request["TrainingJobDefinitions"].size() > 1)
    return Invalid(
        "Several TrainingJobDefinitions in one tuning job are not offered here; create a tuning job for "
        "each.");
  const json& definition = DefinitionOf(request);
  JobPlan plan;
  v1::TuningJobSpec& spec = plan.spec;
  spec.set_name(request["HyperParameterTuningJobName"].get<std::string>());
  const absl::StatusOr<Shape> shape =
      AddDefinition(definition, ObjectIn(definition, "StaticHyperParameters"), context, spec);
  if (!shape.ok()) return shape.status();
  const json& own = ObjectIn(definition, "TuningObjective");
  const json& objective = own.empty() ? ObjectIn(config, "HyperParameterTuningJobObjective") : own;
  if (objective.empty()) return Invalid(kMetricRequired);
  const std::string metric = objective["MetricName"];
  if (shape->image.builtin) {
    if (!absl::StartsWith(metric, "validation:") && !absl::StartsWith(metric, "train:"))
      return Invalid(fmt::format(
          "The objective metric for the hyperparameter tuning job, [{}], isn't valid for the algorithm; "
          "expected validation:METRIC or train:METRIC.",
          metric));
    Evaluate(metric, spec);
  } else if (!DefinesMetric(definition, metric)) {
    return Invalid(kMetricRequired);
  }
  spec.mutable_objective()->set_metric(metric);
  spec.mutable_objective()->set_goal(objective["Type"] == "Maximize" ? v1::MAXIMIZE : v1::MINIMIZE);
  const json& own_ranges = ObjectIn(definition, "HyperParameterRanges");
  const json& ranges = own_ranges.empty() ? ObjectIn(config, "ParameterRanges") : own_ranges;
  if (!request.contains("Autotune") && !ListIn(ranges, "AutoParameters").empty())
    return Invalid("AutoParameters are given; expected them only with Autotune.");
  absl::Status status;
  if (request.contains("Autotune")) status = AddAutomaticRanges(ranges, spec);
  double combinations = 1;
  if (status.ok()) status = AddRanges(ranges, spec, combinations);
  if (status.ok()) status = AddSearch(config, combinations, spec);
  if (!status.ok()) return status;
  if (!shape->image.builtin) {
    absl::StatusOr<std::optional<ScriptCode>> code =
        AddScript({spec.name(), true, definition, ObjectIn(definition, "StaticHyperParameters"), shape->image,
                   shape->nodes},
                  context, spec);
    if (!code.ok()) return code.status();
    plan.code = *std::move(code);
  }
  const int64_t seconds = IntegerIn(ObjectIn(definition, "StoppingCondition"), "MaxRuntimeInSeconds", 86'400);
  spec.mutable_limits()->mutable_max_attempt_time()->set_seconds(seconds);
  for (const json& parent : ListIn(ObjectIn(request, "WarmStartConfig"), "ParentHyperParameterTuningJobs")) {
    const auto id = context.parents.find(TextIn(parent, "HyperParameterTuningJobName"));
    if (id != context.parents.end()) spec.mutable_warm_start()->add_jobs(id->second);
  }
  return plan;
}

}  // namespace winnow
