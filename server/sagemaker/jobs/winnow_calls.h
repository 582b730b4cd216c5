#pragma once

#include <grpcpp/channel.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/sagemaker/jobs/job_spec.h"
#include "winnow/v1/admin.grpc.pb.h"
#include "winnow/v1/artifact.grpc.pb.h"
#include "winnow/v1/logs.grpc.pb.h"
#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {

// On whose behalf Winnow's methods are called.
struct CallerOf {
  std::string peer;          // gRPC's form
  std::string token;         // "": none
  std::string project = {};  // to which its jobs belong; "": the default project
};

// Whether the answer to a call for a model is that it is on its way from its worker.
bool ModelComes(const absl::Status& status);

// Which output of a trial to read.
struct LogRequest {
  std::string job;
  int64_t trial = 1;
  int64_t attempt = 1;
  int rank = 0;
  bool error = false;  // standard error
  int64_t offset = 0;  // bytes
};

// Winnow's own methods, as every other client calls them: through the gRPC server within the process, with
// its roles and checks. Each call waits for its end. Errors have the codes of gRPC; INVALID_ARGUMENT lists
// every violation in its message. Thread-safe.
class WinnowCalls {
 public:
  WinnowCalls(const std::shared_ptr<grpc::Channel>& channel, std::string relay_key);

  // Whether it may look, or change something. UNAUTHENTICATED: its token is not valid; PERMISSION_DENIED: its
  // role is not for this, or it is no member of its project.
  absl::Status CheckUse(const CallerOf& caller, bool changes);
  // Stores the plan's code first, if it has any.
  absl::StatusOr<v1::TuningJob> Create(const CallerOf& caller, const JobPlan& plan,
                                       const std::string& request_id);
  absl::StatusOr<v1::TuningJob> Describe(const CallerOf& caller, const std::string& job);
  absl::Status Stop(const CallerOf& caller, const std::string& job);
  absl::Status Delete(const CallerOf& caller, const std::string& job);
  // All trials of a job that have begun.
  absl::StatusOr<std::vector<v1::Trial>> Trials(const CallerOf& caller, const std::string& job);
  // All values of a trial, or those of one metric, in the order of metrics and levels.
  absl::StatusOr<std::vector<v1::MetricPoint>> Metrics(const CallerOf& caller, const std::string& job,
                                                       int64_t trial, const std::string& metric = "");
  // How many attempts of a trial there are so far.
  absl::StatusOr<int64_t> Attempts(const CallerOf& caller, const std::string& job, int64_t trial);
  // NOT_FOUND: there is no such attempt or rank.
  absl::StatusOr<v1::GetLogsResponse> Logs(const CallerOf& caller, const LogRequest& wanted);
  absl::StatusOr<v1::GetLogTimesResponse> LogTimes(const CallerOf& caller, const LogRequest& wanted);
  // ModelComes: ask again. NOT_FOUND: there is none.
  absl::StatusOr<v1::Artifact> Model(const CallerOf& caller, const std::string& job, int64_t trial);
  // Calls `receive` with the parts of a blob, until it fails.
  absl::Status Blob(const CallerOf& caller, const std::string& digest,
                    const std::function<absl::Status(const std::string&)>& receive);

 private:
  absl::Status Send(const CallerOf& caller, const ScriptCode& code);

  std::unique_ptr<v1::TuningService::Stub> tuning_;
  std::unique_ptr<v1::ArtifactService::Stub> artifacts_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
  std::unique_ptr<v1::LogService::Stub> logs_;
  const std::string relay_key_;
};

}  // namespace winnow
