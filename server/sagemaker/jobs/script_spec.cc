#include "server/sagemaker/jobs/script_spec.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "base/status_text.h"
#include "re2/re2.h"
#include "server/sagemaker/wire/aws_error.h"

namespace winnow {
namespace {

using nlohmann::json;

constexpr char kModule[] = "winnow_sagemaker";
constexpr int kStopSeconds = 120;
constexpr size_t kMostArchive = 64 << 20;
constexpr char kCheckpoints[] = "/opt/ml/checkpoints";

absl::Status BadScript(const std::string& message) { return AwsError("ValidationException", message); }

// SDKs write these hyperparameters as JSON, or as plain text.
std::string Decoded(const json& hyperparameters, const char* name) {
  const std::string text = TextIn(hyperparameters, name);
  const json value = json::parse(text, nullptr, false);
  return value.is_string() ? value.get<std::string>() : text;
}

absl::StatusOr<std::string> ReadObject(const std::string& uri, const SpecContext& context) {
  std::string bucket, key;
  if (!SplitS3Uri(uri, bucket, key))
    return BadScript("The hyperparameter sagemaker_submit_directory is \"" + uri +
                     "\"; expected s3://BUCKET/KEY of an archive here.");
  const absl::StatusOr<ObjectHead> head = context.objects.Get(context.account, bucket, key);
  if (!head.ok()) return BadScript("The archive " + uri + " cannot be read: " + MessageOf(head.status()));
  if (head->size > static_cast<int64_t>(kMostArchive))
    return BadScript(
        fmt::format("The archive {} has {} bytes; expected at most {}.", uri, head->size, kMostArchive));
  const std::shared_ptr<BodySource> source = context.objects.Read(*head, 0, head->size);
  std::string bytes;
  while (static_cast<int64_t>(bytes.size()) < head->size) {
    const std::string part = source->Next(1 << 20);
    if (part.empty()) return absl::UnavailableError("the object " + uri + " cannot be read");
    bytes += part;
  }
  return bytes;
}

std::string InstanceOf(const json& definition) {
  const json& tuning = ObjectIn(definition, "HyperParameterTuningResourceConfig");
  if (tuning.contains("InstanceConfigs") && !tuning["InstanceConfigs"].empty())
    return TextIn(tuning["InstanceConfigs"][0], "InstanceType");
  return TextIn(tuning, "InstanceType",
                TextIn(ObjectIn(definition, "ResourceConfig"), "InstanceType", "ml.m5.xlarge"));
}

// As inputdataconfig.json has it.
json ChannelsOf(const json& definition) {
  json channels = json::object();
  const auto given = definition.find("InputDataConfig");
  if (given == definition.end()) return channels;
  const std::string mode =
      TextIn(ObjectIn(definition, "AlgorithmSpecification"), "TrainingInputMode", "File");
  for (const json& channel : *given) {
    json& added = channels[channel["ChannelName"].get<std::string>()];
    added["TrainingInputMode"] = TextIn(channel, "InputMode", mode);
    added["S3DistributionType"] =
        TextIn(ObjectIn(channel["DataSource"], "S3DataSource"), "S3DataDistributionType", "FullyReplicated");
    added["RecordWrapperType"] = TextIn(channel, "RecordWrapperType", "None");
    if (const std::string type = TextIn(channel, "ContentType"); !type.empty()) added["ContentType"] = type;
  }
  return channels;
}

json EntryOf(const json& algorithm) {
  json entry = algorithm.contains("ContainerEntrypoint") ? algorithm["ContainerEntrypoint"] : json::array();
  if (algorithm.contains("ContainerArguments"))
    entry.insert(entry.end(), algorithm["ContainerArguments"].begin(), algorithm["ContainerArguments"].end());
  return entry.empty() ? json::array({"train"}) : entry;
}

// Refuses what takes no value whatever the syntax: Python's has more than RE2's, such as look-ahead.
absl::Status CheckMetrics(const json& metrics) {
  for (const json& metric : metrics) {
    const std::string text = TextIn(metric, "Regex");
    const re2::RE2 expression(text, re2::RE2::Quiet);
    std::string why;
    if (expression.ok() && expression.NumberOfCapturingGroups() == 0) why = "it has no group";
    for (const auto code :
         {re2::RE2::ErrorMissingBracket, re2::RE2::ErrorMissingParen, re2::RE2::ErrorUnexpectedParen,
          re2::RE2::ErrorTrailingBackslash, re2::RE2::ErrorRepeatArgument}) {
      if (expression.error_code() == code) why = expression.error();
    }
    // RE2 takes a name of a class, as in [[:digit:]], where Python has characters.
    if (why.empty() || text.find("[:") != std::string::npos) continue;
    return BadScript(
        fmt::format("The Regex of the metric {} is \"{}\": {}; expected a regular expression "
                    "with a group for the value.",
                    TextIn(metric, "Name"), text, why));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<ScriptCode>> AddScript(const ScriptRequest& request, const SpecContext& context,
                                                    v1::TuningJobSpec& spec) {
  const json& algorithm = ObjectIn(request.definition, "AlgorithmSpecification");
  const bool checkpoints = request.definition.contains("CheckpointConfig");
  const std::string objective = request.tuning ? spec.objective().metric() : "";
  json plan = {
      {"job", request.job},
      {"tuning", request.tuning},
      {"arn", fmt::format("arn:aws:sagemaker:{}:{}:training-job/", context.region, context.account)},
      {"instance_type", InstanceOf(request.definition)},
      {"channels", ChannelsOf(request.definition)},
      {"static", request.hyperparameters},
      {"metrics", algorithm.contains("MetricDefinitions") ? algorithm["MetricDefinitions"] : json::array()},
      {"objective", objective}};
  if (absl::Status status = CheckMetrics(plan["metrics"]); !status.ok()) return status;
  if (!request.tuning) plan["own"] = kOwnMetric;
  if (context.reused != 0) plan["reused"] = context.reused;
  if (request.count > 1) plan["numbers"] = {request.index, request.count};
  if (!request.image.container.empty()) plan["container"] = true;
  plan["output"] = TextIn(ObjectIn(request.definition, "OutputDataConfig"), "S3OutputPath");
  if (checkpoints) {
    const json& config = request.definition["CheckpointConfig"];
    plan["checkpoints"] = TextIn(config, "LocalPath", kCheckpoints);
    plan["checkpoint_uri"] = TextIn(config, "S3Uri");
  }
  std::optional<ScriptCode> code;
  v1::TrainerSpec& trainer = *spec.mutable_trainer();
  const std::string program = Decoded(request.hyperparameters, "sagemaker_program");
  if (!program.empty()) {
    const std::string directory = Decoded(request.hyperparameters, "sagemaker_submit_directory");
    const absl::StatusOr<std::string> archive = ReadObject(directory, context);
    if (!archive.ok()) return archive.status();
    absl::StatusOr<ScriptCode> unpacked = UnpackScriptCode(*archive);
    if (!unpacked.ok()) return unpacked.status();
    if (!unpacked->Has(program))
      return BadScript(
          fmt::format("The archive {} has no file {}, which sagemaker_program names.", directory, program));
    plan["program"] = program;
    plan["directory"] = directory;
    trainer.set_source("sourcedir");
    if (unpacked->Has("requirements.txt")) {
      for (const std::string& part : request.image.command) trainer.add_setup(part);
      for (const char* part : {"-m", "pip", "install", "--target", ".", "--requirement", "requirements.txt"})
        trainer.add_setup(part);
    }
    code = *std::move(unpacked);
  } else {
    plan["entry"] = EntryOf(algorithm);
  }
  for (const std::string& part : request.image.command) trainer.add_command(part);
  trainer.add_command("-m");
  trainer.add_command(kModule);
  // Two braces would be a placeholder of a hyperparameter.
  trainer.add_command(
      absl::StrReplaceAll(plan.dump(-1, ' ', false, json::error_handler_t::replace), {{"{{", "{\\u007b"}}));
  for (const json& metric : plan["metrics"])
    trainer.add_metrics()->set_name(metric["Name"].get<std::string>());
  if (!request.tuning) trainer.add_metrics()->set_name(kOwnMetric);
  trainer.set_resource_key("step");
  trainer.mutable_grace_period()->set_seconds(kStopSeconds);
  // A script trains to its own end. With checkpoints it is ended at a rung and resumes; without, it is
  // suspended.
  trainer.set_resumes(checkpoints);
  if (!request.image.container.empty()) trainer.mutable_container()->set_image(request.image.container);
  if (!checkpoints && request.nodes == 1 && request.image.container.empty())
    trainer.set_warm(v1::TrainerSpec::SUSPEND);
  return code;
}

}  // namespace winnow
