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
#include "server/sagemaker/jobs/search_spec.h"
#include "server/sagemaker/jobs/training_image.h"
#include "server/sagemaker/wire/aws_error.h"
#include "server/sagemaker/wire/aws_request.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"

namespace winnow {
namespace {

using nlohmann::json;

constexpr char kCsvWeights[] = "csv_weights";
constexpr char kObjectiveHyperparameter[] = "_tuning_objective_metric";
constexpr char kRoundsRequired[] = "The hyperparameter num_round is required: a whole number of at least 1.";
constexpr char kMetricRequired[] =
    "A metric is required for this hyperparameter tuning job objective. Provide a metric in the metric "
    "definitions.";

absl::Status Invalid(const std::string& message) { return AwsError("ValidationException", message); }

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

// `weighs`: the second column of CSV has the weights of rows.
absl::Status AddBuiltinFormat(const std::string& name, const json& channel, bool weighs, v1::Channel& added) {
  std::string type = Lowered(TextIn(channel, "ContentType", "text/libsvm"));
  type = std::string(WithoutBlanks(std::string_view(type).substr(0, type.find(';'))));
  if (type == "text/csv" || type == "csv") {
    added.set_format("csv");
    added.set_header("no");
    added.set_label("0");
    if (weighs) added.set_weight("1");
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
      // As XGBoost's image reads it: the validation data has no weights.
      const bool weighs = name == "train" && spec.static_hyperparameters().contains(kCsvWeights) &&
                          spec.static_hyperparameters().at(kCsvWeights) == "1";
      if (absl::Status status = AddBuiltinFormat(name, channel, weighs, added); !status.ok()) return status;
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
  for (const auto& [name, value] : context.environment) {
    if (name != kScriptAccess || !shape.image.builtin) (*trainer.mutable_environment())[name] = value;
  }
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

// ---- one run

bool LargerIsBetter(const std::string& metric) {
  for (const char* name : {"auc", "aucpr", "map", "ndcg", "pre", "accuracy", "f1"}) {
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
    return Invalid(kRoundsRequired);
  if (absl::Status status = AddOwnObjective(spec); !status.ok()) return status;
  spec.mutable_static_hyperparameters()->erase("num_round");
  AddOnlyValue("num_round", count, spec);
  return absl::OkStatus();
}

// The name of the job of one of several definitions: at most 63 characters, as a job's is.
std::string JobNameOf(const std::string& tuning_job, const std::string& definition) {
  std::string name = (tuning_job + "-" + definition).substr(0, 63);
  while (name.ends_with('-')) name.pop_back();
  return name;
}

// Whether each run of winnow-gbdt knows its rounds.
bool HasRounds(const v1::TuningJobSpec& spec) {
  return spec.static_hyperparameters().contains("num_round") ||
         std::any_of(spec.parameters().begin(), spec.parameters().end(),
                     [](const v1::ParameterSpec& parameter) { return parameter.name() == "num_round"; });
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

int64_t IntegerIn(const json& object, const char* member, int64_t otherwise) {
  const auto found = object.find(member);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : otherwise;
}

const json& ListIn(const json& object, const char* member) {
  static const json* const empty = new json(json::array());
  const auto found = object.find(member);
  return found == object.end() || !found->is_array() ? *empty : *found;
}

const json& ObjectIn(const json& object, const char* member) {
  static const json* const empty = new json(json::object());
  if (!object.is_object()) return *empty;
  const auto found = object.find(member);
  return found == object.end() || !found->is_object() ? *empty : *found;
}

size_t DefinitionCount(const json& tuning_request) {
  return std::max<size_t>(1, ListIn(tuning_request, "TrainingJobDefinitions").size());
}

const json& DefinitionOf(const json& tuning_request, size_t index) {
  const json& several = ListIn(tuning_request, "TrainingJobDefinitions");
  return index < several.size() ? several[index] : ObjectIn(tuning_request, "TrainingJobDefinition");
}

const json& ObjectiveOf(const json& tuning_request, size_t index) {
  const json& own = ObjectIn(DefinitionOf(tuning_request, index), "TuningObjective");
  return own.empty() ? ObjectIn(ObjectIn(tuning_request, "HyperParameterTuningJobConfig"),
                                "HyperParameterTuningJobObjective")
                     : own;
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
        {spec.name(), false, request, ObjectIn(request, "HyperParameters"), shape->image, shape->nodes, 0, 1},
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

namespace {

// Two definitions of a tuning job are told apart by their names, and their objective values are compared.
absl::Status CheckDefinitions(const json& request) {
  if (request.contains("TrainingJobDefinitions") == request.contains("TrainingJobDefinition"))
    return Invalid("Exactly one of TrainingJobDefinition and TrainingJobDefinitions is needed.");
  const size_t count = DefinitionCount(request);
  std::set<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    if (ObjectiveOf(request, i).empty()) return Invalid(kMetricRequired);
    if (count == 1) break;
    const std::string name = TextIn(DefinitionOf(request, i), "DefinitionName");
    if (name.empty()) return Invalid("Each of several TrainingJobDefinitions needs a DefinitionName.");
    if (!names.insert(name).second)
      return Invalid(fmt::format("The DefinitionName {} is given to two TrainingJobDefinitions.", name));
    if (ObjectiveOf(request, i)["Type"] != ObjectiveOf(request, 0)["Type"])
      return Invalid(
          fmt::format("TuningObjective.Type of the definition {} is {}; expected the same Type in all "
                      "TrainingJobDefinitions, so that their training jobs can be compared.",
                      name, ObjectiveOf(request, i)["Type"].get<std::string>()));
  }
  return absl::OkStatus();
}

// The job of one definition, without its limits.
absl::StatusOr<JobPlan> PlanDefinition(const json& request, size_t index, const SpecContext& context,
                                       double& combinations) {
  const json& config = request["HyperParameterTuningJobConfig"];
  const json& definition = DefinitionOf(request, index);
  const size_t count = DefinitionCount(request);
  const std::string job = request["HyperParameterTuningJobName"];
  JobPlan plan;
  v1::TuningJobSpec& spec = plan.spec;
  spec.set_name(count == 1 ? job : JobNameOf(job, TextIn(definition, "DefinitionName")));
  const absl::StatusOr<Shape> shape =
      AddDefinition(definition, ObjectIn(definition, "StaticHyperParameters"), context, spec);
  if (!shape.ok()) return shape.status();
  const json& objective = ObjectiveOf(request, index);
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
  if (status.ok()) status = AddRanges(ranges, spec, combinations);
  if (status.ok() && shape->image.builtin && !HasRounds(spec)) status = Invalid(kRoundsRequired);
  if (status.ok()) status = AddSearch(config, spec);
  if (!status.ok()) return status;
  if (!shape->image.builtin) {
    absl::StatusOr<std::optional<ScriptCode>> code =
        AddScript({job, true, definition, ObjectIn(definition, "StaticHyperParameters"), shape->image,
                   shape->nodes, static_cast<int64_t>(index), static_cast<int64_t>(count)},
                  context, spec);
    if (!code.ok()) return code.status();
    plan.code = *std::move(code);
  }
  const int64_t seconds = IntegerIn(ObjectIn(definition, "StoppingCondition"), "MaxRuntimeInSeconds", 86'400);
  spec.mutable_limits()->mutable_max_attempt_time()->set_seconds(seconds);
  for (const auto& [name, parent] : context.parents) {
    const absl::StatusOr<std::string> id = parent.JobOf(name, TextIn(definition, "DefinitionName"), metric);
    if (!id.ok()) return id.status();
    spec.mutable_warm_start()->add_jobs(*id);
  }
  return plan;
}

}  // namespace

absl::StatusOr<std::string> WarmStartParent::JobOf(const std::string& name, const std::string& definition,
                                                   const std::string& metric) const {
  for (size_t i = 0; i < jobs.size() && i < definitions.size(); ++i) {
    if (jobs.size() > 1 && definitions[i] != definition) continue;
    if (metrics[i] == metric) return jobs[i];
    return Invalid(
        fmt::format("The objective metric of the parent tuning job {} is {}; expected {}, as this one's.",
                    name, metrics[i], metric));
  }
  return Invalid(
      fmt::format("The parent tuning job {} has several training job definitions, and none named \"{}\".",
                  name, definition));
}

absl::StatusOr<std::vector<JobPlan>> PlanTuningJob(const json& request, const SpecContext& context) {
  if (absl::Status status = CheckDefinitions(request); !status.ok()) return status;
  const json& config = request["HyperParameterTuningJobConfig"];
  std::vector<JobPlan> plans;
  std::vector<double> combinations;
  for (size_t i = 0; i < DefinitionCount(request); ++i) {
    absl::StatusOr<JobPlan> plan = PlanDefinition(request, i, context, combinations.emplace_back());
    if (!plan.ok()) return plan.status();
    plans.push_back(*std::move(plan));
  }
  if (absl::Status status = AddLimits(config, combinations, context.elapsed_seconds, plans); !status.ok())
    return status;
  return plans;
}

}  // namespace winnow
