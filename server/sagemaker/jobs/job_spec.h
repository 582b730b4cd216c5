#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
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
};

// The job of Winnow that a checked request asks for: with one trial for a training job. ValidationException:
// what the request asks for contradicts itself, is not in the account's buckets, or is not offered.
absl::StatusOr<v1::TuningJobSpec> SpecOfTrainingJob(const nlohmann::json& request,
                                                    const SpecContext& context);
absl::StatusOr<v1::TuningJobSpec> SpecOfTuningJob(const nlohmann::json& request, const SpecContext& context);

// The definition of the training jobs of a tuning job.
const nlohmann::json& DefinitionOf(const nlohmann::json& tuning_request);

// "bucket" and "prefix/a" of "s3://bucket/prefix/a"; false for another URL.
bool SplitS3Uri(const std::string& uri, std::string& bucket, std::string& key);

// The text of a member of an object, or a default.
std::string TextIn(const nlohmann::json& object, const char* member, const std::string& otherwise = "");
// The member, or an empty object.
const nlohmann::json& ObjectIn(const nlohmann::json& object, const char* member);

}  // namespace winnow
