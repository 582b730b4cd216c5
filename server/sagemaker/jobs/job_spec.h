#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/sagemaker/jobs/script_code.h"
#include "server/sagemaker/jobs/training_image.h"
#include "server/sagemaker/s3/object_store.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The variable by which worker/winnow_sagemaker.py reaches the buckets of the job's account: "ID:SECRET@URL".
inline constexpr char kScriptAccess[] = "SAGEMAKER_ACCESS";

// A tuning job that another one begins from.
struct WarmStartParent {
  // Names, objective metrics, and ids of the jobs of Winnow, in one order.
  std::vector<std::string> definitions, metrics, jobs;

  // The job of the definition of that name, or the only one. ValidationException: there is none, or it has
  // another objective metric.
  absl::StatusOr<std::string> JobOf(const std::string& name, const std::string& definition,
                                    const std::string& metric) const;
};

// What a spec needs beside the request.
struct SpecContext {
  std::string account;
  ObjectStore& objects;
  std::map<std::string, std::string> environment;  // of the job's processes
  std::string endpoint;                            // of S3, as workers reach it
  std::map<std::string, WarmStartParent> parents;  // by name
  std::string region;
  const TrainingImages& images;
  int64_t elapsed_seconds = 0;  // of a tuning job's time
  int64_t reused = 0;           // as SagemakerJob::trial of a tuning job
};

// A job of Winnow, and the code that it runs.
struct JobPlan {
  v1::TuningJobSpec spec;
  std::optional<ScriptCode> code;  // absent: that of a built-in trainer or of an image
};

// The job of Winnow that a checked request asks for: with one trial for a training job. ValidationException:
// what the request asks for contradicts itself, is not in the account's buckets, or is not offered.
absl::StatusOr<JobPlan> PlanTrainingJob(const nlohmann::json& request, const SpecContext& context);
// One job for each definition of training jobs. The definitions share the number of training jobs and how
// many run at a time.
absl::StatusOr<std::vector<JobPlan>> PlanTuningJob(const nlohmann::json& request, const SpecContext& context);

// The definitions of the training jobs of a tuning job.
size_t DefinitionCount(const nlohmann::json& tuning_request);
const nlohmann::json& DefinitionOf(const nlohmann::json& tuning_request, size_t index);
// The objective of a definition, or that of all; empty: there is none.
const nlohmann::json& ObjectiveOf(const nlohmann::json& tuning_request, size_t index);

// "bucket" and "prefix/a" of "s3://bucket/prefix/a"; false for another URL.
bool SplitS3Uri(const std::string& uri, std::string& bucket, std::string& key);

// The text of a member of an object, or a default.
std::string TextIn(const nlohmann::json& object, const char* member, const std::string& otherwise = "");
int64_t IntegerIn(const nlohmann::json& object, const char* member, int64_t otherwise);
// The member, or an empty object or list.
const nlohmann::json& ObjectIn(const nlohmann::json& object, const char* member);
const nlohmann::json& ListIn(const nlohmann::json& object, const char* member);

}  // namespace winnow
