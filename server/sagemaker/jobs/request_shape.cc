#include "server/sagemaker/jobs/request_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/strings/str_join.h"
#include "re2/re2.h"
#include "server/sagemaker/wire/aws_error.h"
#include "server/sagemaker/wire/aws_request.h"

namespace winnow {
namespace {

using Json = nlohmann::json;

// The members of requests. "Name!" is required. A type is the name of one that is defined here; an object, a
// structure; or a list: ["str", least, most, pattern], ["int", least, most], ["enum", "A|B"], ["list", type,
// least, most],
// ["map", key, value, most]. "any" is not checked.
constexpr char kShapes[] = R"json({
"Jobs": ["str", 1, 32, "[a-zA-Z0-9](-*[a-zA-Z0-9]){0,31}"],
"Training": ["str", 1, 63, "[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}"],
"Text256": ["str", 0, 256, ""],
"Metric": ["str", 1, 255, ".+"],
"Algorithm": ["str", 1, 170, "(arn:aws[a-z\\-]*:sagemaker:[a-z0-9\\-]*:[0-9]{12}:[a-z\\-]*\\/)?([a-zA-Z0-9]([a-zA-Z0-9-]){0,62})"],
"S3Uri": ["str", 0, 1024, "((https|s3|file)://([^/]+)/?(.*)|file:///.*|/.*)"],
"Arn": ["str", 0, 256, "arn:aws[a-z-]*:sagemaker:[a-z0-9-]*:[0-9]{12}:.+"],
"Role": ["str", 20, 2048, "arn:aws[a-z\\-]*:iam::\\d{12}:role/?[a-zA-Z_0-9+=,.@\\-_/]+"],
"TagKey": ["str", 1, 128, "([\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]*)"],
"Tags": ["list", {"Key!": "TagKey", "Value!": ["str", 0, 256, "([\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]*)"]}, 0, 50],
"Mode": ["enum", "Pipe|File|FastFile"],
"Goal": ["enum", "Maximize|Minimize"],
"Order": ["enum", "Ascending|Descending"],
"Page": ["int", 1, 100],
"Token": ["str", 0, 8192, ""],
"Contains": ["str", 0, 63, "[a-zA-Z0-9\\-]+"],
"TuningStatus": ["enum", "Completed|InProgress|Failed|Stopped|Stopping|Deleting|DeleteFailed"],
"TrainingStatus": ["enum", "InProgress|Completed|Failed|Stopping|Stopped|Deleting"],
"Scaling": ["enum", "Auto|Linear|Logarithmic|ReverseLogarithmic"],
"Number": {"Name!": "Text256", "MinValue!": "Text256", "MaxValue!": "Text256", "ScalingType": "Scaling"},
"Ranges": {"IntegerParameterRanges": ["list", "Number", 0, 30], "ContinuousParameterRanges": ["list", "Number", 0, 30],
  "CategoricalParameterRanges": ["list", {"Name!": "Text256", "Values!": ["list", "Text256", 1, 30]}, 0, 30],
  "AutoParameters": ["list", {"Name!": "Text256", "ValueHint!": "Text256"}, 0, 100]},
"Hyperparameters": ["map", "Text256", ["str", 0, 2500, ""], 100],
"Channel": {"ChannelName!": ["str", 1, 64, "[A-Za-z0-9\\.\\-_]+"], "DataSource!": {
    "S3DataSource": {"S3DataType!": ["enum", "ManifestFile|S3Prefix|AugmentedManifestFile|Converse"], "S3Uri!": "S3Uri",
      "S3DataDistributionType": ["enum", "FullyReplicated|ShardedByS3Key"], "AttributeNames": ["list", ["str", 1, 256, ".+"], 0, 16]},
    "FileSystemDataSource": {"FileSystemId!": ["str", 11, 21, "(fs-[0-9a-f]{8,})"], "FileSystemAccessMode!": ["enum", "rw|ro"],
      "FileSystemType!": ["enum", "EFS|FSxLustre"], "DirectoryPath!": ["str", 0, 4096, ""]}},
  "ContentType": "Text256", "CompressionType": ["enum", "None|Gzip"], "RecordWrapperType": ["enum", "None|RecordIO"],
  "InputMode": "Mode", "ShuffleConfig": {"Seed!": ["int", -9223372036854775807, 9223372036854775807]}},
"Channels": ["list", "Channel", 1, 20],
"Output": {"KmsKeyId": ["str", 0, 2048, "[a-zA-Z0-9:/_-]*"], "S3OutputPath!": "S3Uri", "CompressionType": ["enum", "GZIP|NONE"]},
"Resources": {"InstanceType": "Instance", "InstanceCount": ["int", 0, 2147483647], "VolumeSizeInGB": ["int", 0, 2147483647],
  "VolumeKmsKeyId": ["str", 0, 2048, "[a-zA-Z0-9:/_-]*"], "KeepAlivePeriodInSeconds": ["int", 0, 21600],
  "InstanceGroups": ["list", {"InstanceType!": "Instance", "InstanceCount!": ["int", 0, 2147483647], "InstanceGroupName!": ["str", 1, 64, ".+"]}, 0, 5]},
"TuningResources": {"InstanceType": "Instance", "InstanceCount": ["int", 0, 2147483647], "VolumeSizeInGB": ["int", 0, 2147483647],
  "VolumeKmsKeyId": ["str", 0, 2048, "[a-zA-Z0-9:/_-]*"], "AllocationStrategy": ["enum", "Prioritized"],
  "InstanceConfigs": ["list", {"InstanceType!": "Instance", "InstanceCount!": ["int", 0, 2147483647], "VolumeSizeInGB!": ["int", 1, 2147483647]}, 1, 6]},
"Stopping": {"MaxRuntimeInSeconds": ["int", 1, 2419200], "MaxWaitTimeInSeconds": ["int", 1, 2419200],
  "MaxPendingTimeInSeconds": ["int", 7200, 2419200]},
"Vpc": {"SecurityGroupIds!": ["list", ["str", 0, 32, "[-0-9a-zA-Z]+"], 1, 5], "Subnets!": ["list", ["str", 0, 32, "[-0-9a-zA-Z]+"], 1, 16]},
"Checkpoints": {"S3Uri!": "S3Uri", "LocalPath": ["str", 0, 4096, ""]},
"Retry": {"MaximumRetryAttempts!": ["int", 1, 30]},
"Variables": ["map", ["str", 0, 512, "[a-zA-Z_][a-zA-Z0-9_]*"], ["str", 0, 512, ""], 100],
"Definitions": ["list", {"Name!": "Metric", "Regex!": ["str", 1, 500, ".+"]}, 0, 40],
"Definition": {"DefinitionName": ["str", 1, 64, "[a-zA-Z0-9](-*[a-zA-Z0-9]){0,63}"], "TuningObjective": {"Type!": "Goal", "MetricName!": "Metric"},
  "HyperParameterRanges": "Ranges", "StaticHyperParameters": "Hyperparameters",
  "AlgorithmSpecification!": {"TrainingImage": ["str", 0, 255, ""], "TrainingInputMode!": "Mode", "AlgorithmName": "Algorithm", "MetricDefinitions": "Definitions"},
  "RoleArn!": "Role", "InputDataConfig": "Channels", "VpcConfig": "Vpc", "OutputDataConfig!": "Output", "ResourceConfig": "Resources",
  "HyperParameterTuningResourceConfig": "TuningResources", "StoppingCondition!": "Stopping", "EnableNetworkIsolation": "bool",
  "EnableInterContainerTrafficEncryption": "bool", "EnableManagedSpotTraining": "bool", "CheckpointConfig": "Checkpoints",
  "RetryStrategy": "Retry", "Environment": ["map", ["str", 0, 512, "[a-zA-Z_][a-zA-Z0-9_]*"], ["str", 0, 512, ""], 48]},
"CreateHyperParameterTuningJob": {"HyperParameterTuningJobName!": "Jobs", "HyperParameterTuningJobConfig!": {
    "Strategy!": ["enum", "Bayesian|Random|Hyperband|Grid"],
    "StrategyConfig": {"HyperbandStrategyConfig": {"MinResource": ["int", 1, 2147483647], "MaxResource": ["int", 1, 2147483647]}},
    "HyperParameterTuningJobObjective": {"Type!": "Goal", "MetricName!": "Metric"},
    "ResourceLimits!": {"MaxNumberOfTrainingJobs": ["int", 1, 2147483647], "MaxParallelTrainingJobs!": ["int", 1, 2147483647], "MaxRuntimeInSeconds": ["int", 120, 15768000]},
    "ParameterRanges": "Ranges", "TrainingJobEarlyStoppingType": ["enum", "Off|Auto"],
    "TuningJobCompletionCriteria": {"TargetObjectiveMetricValue": "float",
      "BestObjectiveNotImproving": {"MaxNumberOfTrainingJobsNotImproving": ["int", 3, 2147483647]},
      "ConvergenceDetected": {"CompleteOnConvergence": ["enum", "Disabled|Enabled"]}},
    "RandomSeed": ["int", 0, 2147483647]},
  "TrainingJobDefinition": "Definition", "TrainingJobDefinitions": ["list", "Definition", 1, 10],
  "WarmStartConfig": {"ParentHyperParameterTuningJobs!": ["list", {"HyperParameterTuningJobName": "Jobs"}, 1, 5], "WarmStartType!": ["enum", "IdenticalDataAndAlgorithm|TransferLearning"]},
  "Tags": "Tags", "Autotune": {"Mode!": ["enum", "Enabled"]}},
"DescribeHyperParameterTuningJob": {"HyperParameterTuningJobName!": "Jobs"},
"StopHyperParameterTuningJob": {"HyperParameterTuningJobName!": "Jobs"},
"DeleteHyperParameterTuningJob": {"HyperParameterTuningJobName!": "Jobs"},
"ListHyperParameterTuningJobs": {"NextToken": "Token", "MaxResults": "Page", "SortBy": ["enum", "Name|Status|CreationTime"], "SortOrder": "Order", "NameContains": "Contains",
  "CreationTimeAfter": "float", "CreationTimeBefore": "float", "LastModifiedTimeAfter": "float", "LastModifiedTimeBefore": "float", "StatusEquals": "TuningStatus"},
"ListTrainingJobsForHyperParameterTuningJob": {"HyperParameterTuningJobName!": "Jobs", "NextToken": "Token", "MaxResults": "Page", "StatusEquals": "TrainingStatus",
  "SortBy": ["enum", "Name|CreationTime|Status|FinalObjectiveMetricValue"], "SortOrder": "Order"},
"CreateTrainingJob": {"TrainingJobName!": "Training", "HyperParameters": "Hyperparameters",
  "AlgorithmSpecification": {"TrainingImage": ["str", 0, 255, ""], "AlgorithmName": "Algorithm", "TrainingInputMode!": "Mode", "MetricDefinitions": "Definitions",
    "EnableSageMakerMetricsTimeSeries": "bool", "ContainerEntrypoint": ["list", "Text256", 1, 100], "ContainerArguments": ["list", "Text256", 1, 100]},
  "RoleArn!": "Role", "InputDataConfig": "Channels", "OutputDataConfig!": "Output", "ResourceConfig": "Resources", "VpcConfig": "Vpc",
  "StoppingCondition": "Stopping", "Tags": "Tags", "EnableNetworkIsolation": "bool", "EnableInterContainerTrafficEncryption": "bool",
  "EnableManagedSpotTraining": "bool", "CheckpointConfig": "Checkpoints", "RetryStrategy": "Retry", "Environment": "Variables"},
"DescribeTrainingJob": {"TrainingJobName!": "Training"},
"StopTrainingJob": {"TrainingJobName!": "Training"},
"DeleteTrainingJob": {"TrainingJobName!": "Training"},
"ListTrainingJobs": {"NextToken": "Token", "MaxResults": "Page", "SortBy": ["enum", "Name|CreationTime|Status"], "SortOrder": "Order", "NameContains": "Contains",
  "CreationTimeAfter": "float", "CreationTimeBefore": "float", "LastModifiedTimeAfter": "float", "LastModifiedTimeBefore": "float", "StatusEquals": "TrainingStatus",
  "WarmPoolStatusEquals": ["enum", "Available|Terminated|Reused|InUse"]},
"AddTags": {"ResourceArn!": "Arn", "Tags!": "Tags"},
"ListTags": {"ResourceArn!": "Arn", "NextToken": "Token", "MaxResults": ["int", 50, 2147483647]},
"DeleteTags": {"ResourceArn!": "Arn", "TagKeys!": ["list", "TagKey", 1, 50]}
})json";

// Families of instance types, and what follows "ml.FAMILY.": x is xlarge.
constexpr char kInstances[] =
    "c4:x,2x,4x,8x c5:x,2x,4x,9x,18x c5n:x,2x,4x,9x,18x c6i:x,2x,4x,8x,12x,16x,24x,32x "
    "c7i:large,x,2x,4x,8x,12x,16x,24x,48x m7i:large,x,2x,4x,8x,12x,16x,24x,48x "
    "r7i:large,x,2x,4x,8x,12x,16x,24x,48x g4dn:x,2x,4x,8x,12x,16x g5:x,2x,4x,8x,12x,16x,24x,48x "
    "g6:x,2x,4x,8x,12x,16x,24x,48x g6e:x,2x,4x,8x,12x,16x,24x,48x g7e:2x,4x,8x,12x,24x,48x "
    "m4:x,2x,4x,10x,16x "
    "m5:large,x,2x,4x,12x,24x m6i:large,x,2x,4x,8x,12x,16x,24x,32x p2:x,8x,16x p3:2x,8x,16x p3dn:24x p4d:24x "
    "p4de:24x p5:4x,48x p5e:48x p5en:48x p6-b200:48x p6-b300:48x p6e-gb200:36x "
    "r5:large,x,2x,4x,8x,12x,16x,24x "
    "r5d:large,x,2x,4x,8x,12x,16x,24x t3:medium,large,x,2x trn1:2x,32x trn1n:32x trn2:48x";

std::string InstanceTypes() {
  std::vector<std::string> types;
  for (const std::string& family : SplitAt(kInstances, ' ')) {
    const std::vector<std::string> parts = SplitAt(family, ':');
    for (std::string size : SplitAt(parts[1], ',')) {
      if (size.ends_with('x')) size += "large";
      types.push_back("ml." + parts[0] + "." + size);
    }
  }
  return absl::StrJoin(types, "|");
}

const Json& Shapes() {
  static const Json* const shapes = [] {
    auto* parsed = new Json(Json::parse(kShapes));
    (*parsed)["Instance"] = Json::array({"enum", InstanceTypes()});
    return parsed;
  }();
  return *shapes;
}

const re2::RE2& Pattern(const std::string& text) {
  static const auto* const patterns = [] {
    auto* compiled = new std::map<std::string, std::unique_ptr<re2::RE2>>;
    const auto collect = [&](const auto& self, const Json& shape) -> void {
      if (shape.is_array() && shape[0] == "str" && shape[3] != "") {
        const std::string pattern = shape[3];
        (*compiled)[pattern] = std::make_unique<re2::RE2>(pattern);
      }
      if (shape.is_structured()) {
        for (const Json& part : shape) self(self, part);
      }
    };
    collect(collect, Shapes());
    return compiled;
  }();
  return *patterns->at(text);
}

int64_t Characters(const std::string& text) {
  int64_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  return count;
}

class ShapeChecker {
 public:
  absl::Status Run(const Json& shape, const Json& value) {
    Visit(shape, value, "");
    if (!type_error_.empty()) return AwsError("SerializationException", type_error_);
    if (errors_.empty()) return absl::OkStatus();
    return AwsError("ValidationException",
                    fmt::format("{} validation error{} detected: {}", errors_.size(),
                                errors_.size() == 1 ? "" : "s", absl::StrJoin(errors_, "; ")));
  }

 private:
  static std::string Under(const std::string& path, std::string name) {
    name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
    return path.empty() ? name : path + "." + name;
  }

  void Wrong(const Json& value, const std::string& path, const std::string& must) {
    const std::string shown = value.is_string() ? value.get<std::string>() : value.dump();
    errors_.push_back(fmt::format("Value '{}' at '{}' failed to satisfy constraint: Member must {}",
                                  shown.substr(0, 256), path, must));
  }

  bool Is(bool right, const std::string& path, const char* expected) {
    if (!right && type_error_.empty())
      type_error_ = fmt::format("The member {} must be {}.", path.empty() ? "(the request)" : path, expected);
    return right;
  }

  void Visit(const Json& shape, const Json& value, const std::string& path) {
    if (shape.is_object()) return Structure(shape, value, path);
    if (shape.is_array()) return Constrained(shape, value, path);
    const std::string& name = shape.get_ref<const std::string&>();
    if (name == "bool") {
      Is(value.is_boolean(), path, "a boolean");
    } else if (name == "float") {
      Is(value.is_number(), path, "a number");
    } else if (name != "any") {
      Visit(Shapes()[name], value, path);
    }
  }

  void Structure(const Json& shape, const Json& value, const std::string& path) {
    if (!Is(value.is_object(), path, "an object")) return;
    for (const auto& [key, type] : shape.items()) {
      const bool required = key.ends_with('!');
      const std::string name = required ? key.substr(0, key.size() - 1) : key;
      const auto found = value.find(name);
      if (found != value.end() && !found->is_null()) {
        Visit(type, *found, Under(path, name));
      } else if (required) {
        errors_.push_back(fmt::format(
            "Value null at '{}' failed to satisfy constraint: Member must not be null", Under(path, name)));
      }
    }
  }

  void Constrained(const Json& shape, const Json& value, const std::string& path) {
    const std::string& kind = shape[0].get_ref<const std::string&>();
    if (kind == "str") {
      if (!Is(value.is_string(), path, "a string")) return;
      const auto& text = value.get_ref<const std::string&>();
      const std::string& pattern = shape[3].get_ref<const std::string&>();
      if (Characters(text) > shape[2].get<int64_t>())
        Wrong(value, path, fmt::format("have length less than or equal to {}", shape[2].get<int64_t>()));
      if (Characters(text) < shape[1].get<int64_t>())
        Wrong(value, path, fmt::format("have length greater than or equal to {}", shape[1].get<int64_t>()));
      if (!pattern.empty() && !re2::RE2::FullMatch(text, Pattern(pattern)))
        Wrong(value, path, "satisfy regular expression pattern: " + pattern);
    } else if (kind == "int") {
      if (!Is(value.is_number_integer(), path, "an integer")) return;
      const bool huge = value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX;
      if (huge || value.get<int64_t>() > shape[2].get<int64_t>())
        Wrong(value, path, fmt::format("have value less than or equal to {}", shape[2].get<int64_t>()));
      else if (value.get<int64_t>() < shape[1].get<int64_t>())
        Wrong(value, path, fmt::format("have value greater than or equal to {}", shape[1].get<int64_t>()));
    } else if (kind == "enum") {
      if (!Is(value.is_string(), path, "a string")) return;
      const std::vector<std::string> values = SplitAt(shape[1].get_ref<const std::string&>(), '|');
      if (std::find(values.begin(), values.end(), value.get<std::string>()) == values.end())
        Wrong(value, path, fmt::format("satisfy enum value set: [{}]", absl::StrJoin(values, ", ")));
    } else if (kind == "list") {
      if (!Is(value.is_array(), path, "a list")) return;
      Size(value, path, shape[2].get<int64_t>(), shape[3].get<int64_t>());
      for (size_t i = 0; i < value.size() && i < 1000; ++i)
        Visit(shape[1], value[i], fmt::format("{}.{}.member", path, i + 1));
    } else {
      if (!Is(value.is_object(), path, "an object")) return;
      Size(value, path, 0, shape[3].get<int64_t>());
      for (const auto& [key, each] : value.items()) {
        Visit(shape[1], Json(key), path + ".key");
        Visit(shape[2], each, path + "." + key + ".value");
      }
    }
  }

  void Size(const Json& value, const std::string& path, int64_t least, int64_t most) {
    const auto size = static_cast<int64_t>(value.size());
    if (size > most)
      Wrong(fmt::format("{} members", size), path, fmt::format("have length less than or equal to {}", most));
    if (size < least)
      Wrong(fmt::format("{} members", size), path,
            fmt::format("have length greater than or equal to {}", least));
  }

  std::string type_error_;
  std::vector<std::string> errors_;
};

bool IsOperation(const std::string& name) {
  return name.starts_with("Create") || name.starts_with("Describe") || name.starts_with("List") ||
         name.starts_with("Stop") || name.starts_with("Delete") || name == "AddTags";
}

}  // namespace

absl::Status CheckRequestShape(const std::string& operation, const Json& request) {
  return ShapeChecker().Run(Shapes().at(operation), request);
}

bool HasRequestShape(const std::string& operation) {
  return IsOperation(operation) && Shapes().contains(operation);
}

}  // namespace winnow
