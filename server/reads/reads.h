#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/engine/context.h"
#include "server/engine/job_view.h"
#include "winnow/v1/artifact.pb.h"
#include "winnow/v1/tuning.pb.h"
#include "winnow/v1/usage.pb.h"

namespace winnow {

// In a status of GetArtifact: there is no such model now.
inline constexpr char kModelNotKept[] = "winnow.v1.ModelNotKept";

// What one batch of a watch holds: events above the given sequence, the job as of the last of them.
struct WatchBatch {
  std::vector<v1::TuningJobEvent> events;
  v1::TuningJob job;
  bool more = false;   // there are further events
  bool ended = false;  // the job has ended and these are its last events
};

struct LogAnswer {
  v1::GetLogsResponse response;
  int64_t assignment = 0;  // whose stream it is: LogTopic
};

// All that decided a job.
struct Record {
  SearchSpec spec;
  std::vector<Fact> facts;
};

// What clients may ask of the committed rows. Each method reads one state of the file. Errors: NOT_FOUND
// names the job or trial, INVALID_ARGUMENT the field. Owner: the reader's thread.
class Reads {
 public:
  Reads(Store& store, Clock clock) : store_(store), clock_(std::move(clock)), views_(store) {}

  absl::StatusOr<v1::TuningJob> DescribeTuningJob(const std::string& id);
  absl::StatusOr<v1::ListTuningJobsResponse> ListTuningJobs(const v1::ListTuningJobsRequest& request);
  absl::StatusOr<v1::ListTrialsResponse> ListTrials(const v1::ListTrialsRequest& request);
  absl::StatusOr<v1::DescribeTrialResponse> DescribeTrial(const v1::DescribeTrialRequest& request);
  absl::StatusOr<v1::QueryMetricsResponse> QueryMetrics(const v1::QueryMetricsRequest& request);
  absl::StatusOr<v1::GetAnalyticsResponse> GetAnalytics(const v1::GetAnalyticsRequest& request);
  absl::StatusOr<LogAnswer> GetLogs(const v1::GetLogsRequest& request);
  // NOT_FOUND also of a trial whose worker has put nothing into the artifact store.
  absl::StatusOr<v1::Artifact> GetArtifact(const v1::GetArtifactRequest& request);
  // after = -1: only what is recorded from now on (an empty batch with the job's last sequence).
  absl::StatusOr<WatchBatch> Watch(const std::string& id, int64_t after);
  absl::StatusOr<Record> GetRecord(const std::string& id);
  // Shows the job as it is now.
  absl::Status Look(const std::string& id, const std::function<void(const JobView&)>& look);
  // INVALID_ARGUMENT names the field.
  absl::StatusOr<v1::GetWorkerUsageResponse> GetWorkerUsage(const v1::GetWorkerUsageRequest& request);
  absl::StatusOr<v1::GetTrialUsageResponse> GetTrialUsage(const v1::GetTrialUsageRequest& request);
  // OK: rows can be read.
  absl::Status Probe();
  // The id of the job that a create request made; "": none.
  absl::StatusOr<std::string> FindRequest(const std::string& request_id);

 private:
  // The job as clients see it; of a running one that no workers present could train, what it waits for.
  absl::Status Message(const JobRow& row, v1::TuningJob& message);
  Store& store_;
  Clock clock_;
  JobViews views_;
};

}  // namespace winnow
