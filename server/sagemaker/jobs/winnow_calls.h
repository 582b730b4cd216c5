#pragma once

#include <grpcpp/channel.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/v1/artifact.grpc.pb.h"
#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {

// On whose behalf Winnow's methods are called.
struct CallerOf {
  std::string peer;   // gRPC's form
  std::string token;  // "": none
};

// Winnow's own methods, as every other client calls them: through the gRPC server within the process, with
// its roles and checks. Each call waits for its end. Errors have the codes of gRPC; INVALID_ARGUMENT lists
// every violation in its message. Thread-safe.
class WinnowCalls {
 public:
  WinnowCalls(const std::shared_ptr<grpc::Channel>& channel, std::string relay_key);

  absl::StatusOr<v1::TuningJob> Create(const CallerOf& caller, const v1::TuningJobSpec& spec,
                                       const std::string& request_id);
  absl::StatusOr<v1::TuningJob> Describe(const CallerOf& caller, const std::string& job);
  absl::Status Stop(const CallerOf& caller, const std::string& job);
  absl::Status Delete(const CallerOf& caller, const std::string& job);
  // All trials of a job that have begun.
  absl::StatusOr<std::vector<v1::Trial>> Trials(const CallerOf& caller, const std::string& job);
  // All values of a trial, in the order of metrics and levels.
  absl::StatusOr<std::vector<v1::MetricPoint>> Metrics(const CallerOf& caller, const std::string& job,
                                                       int64_t trial);
  // UNAVAILABLE: the model is on its way; ask again. NOT_FOUND: there is none.
  absl::StatusOr<v1::Artifact> Model(const CallerOf& caller, const std::string& job, int64_t trial);
  // Calls `receive` with the parts of a blob.
  absl::Status Blob(const CallerOf& caller, const std::string& digest,
                    const std::function<absl::Status(const std::string&)>& receive);

 private:
  std::unique_ptr<v1::TuningService::Stub> tuning_;
  std::unique_ptr<v1::ArtifactService::Stub> artifacts_;
  const std::string relay_key_;
};

}  // namespace winnow
