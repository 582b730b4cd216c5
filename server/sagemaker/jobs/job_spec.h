#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/sagemaker/jobs/script_code.h"
#include "server/sagemaker/jobs/training_image.h"
#include "server/sagemaker/s3/object_store.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// What a spec needs beside the request.
struct SpecContext {
  std::string account;
  ObjectStore& objects;
  std::map<std::string, std::string> environment;  // of the job's processes
  std::string endpoint;                            // of S3, as workers reach it
  std::map<std::string, std::string> parents;      // ids of the jobs of Winnow of a warm start, by name
  std::string region;
  const TrainingImages& images;
};

// A job of Winnow, and the code that it runs.
struct JobPlan {
  v1::TuningJobSpec spec;
  std::optional<ScriptCode> code;  // absent: that of a built-in trainer or of an image
};

// The job of Winnow that a checked request asks for: with one trial for a training job. ValidationException:
// what the request asks for contradicts itself, is not in the account's buckets, or is not offered.
absl::StatusOr<JobPlan> PlanTrainingJob(const nlohmann::json& request, const SpecContext& context);
absl::StatusOr<JobPlan> PlanTuningJob(const nlohmann::json& request, const SpecContext& context);

// The definition of the training jobs of a tuning job.
const nlohmann::json& DefinitionOf(const nlohmann::json& tuning_request);

// "bucket" and "prefix/a" of "s3://bucket/prefix/a"; false for another URL.
bool SplitS3Uri(const std::string& uri, std::string& bucket, std::string& key);

// The text of a member of an object, or a default.
std::string TextIn(const nlohmann::json& object, const char* member, const std::string& otherwise = "");
// The member, or an empty object.
const nlohmann::json& ObjectIn(const nlohmann::json& object, const char* member);

}  // namespace winnow
