#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/context.h"
#include "server/job_view.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

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
  // after = -1: only what is recorded from now on (an empty batch with the job's last sequence).
  absl::StatusOr<WatchBatch> Watch(const std::string& id, int64_t after);
  absl::StatusOr<Record> GetRecord(const std::string& id);
  // Shows the job as it is now.
  absl::Status Look(const std::string& id, const std::function<void(const JobView&)>& look);
  // The id of the job that a create request made; "": none.
  absl::StatusOr<std::string> FindRequest(const std::string& request_id);

 private:
  // The job as clients see it; of a running one that no workers present could train, what it waits for.
  absl::Status Message(const JobView& job, v1::TuningJob& message);
  Store& store_;
  Clock clock_;
  JobViews views_;
};

}  // namespace winnow
