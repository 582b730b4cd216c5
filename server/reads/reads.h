#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/engine/answers/job_view.h"
#include "server/engine/answers/requester.h"
#include "server/engine/context.h"
#include "server/reads/reading_thread.h"
#include "winnow/v1/artifact.pb.h"
#include "winnow/v1/audit.pb.h"
#include "winnow/v1/logs.pb.h"
#include "winnow/v1/tuning.pb.h"
#include "winnow/v1/usage.pb.h"
#include "winnow/v1/webhooks.pb.h"

namespace winnow {

// Detail of a status of GetArtifact: the model is not stored now.
inline constexpr char kModelNotKept[] = "winnow.v1.ModelNotKept";

class WaitReasons;

// One batch of a watch: the events above the given sequence, and the job as of the last of them.
struct WatchBatch {
  std::vector<v1::TuningJobEvent> events;
  v1::TuningJob job;
  bool more = false;   // there are further events
  bool ended = false;  // the job has ended and these are its last events
};

struct LogAnswer {
  v1::GetLogsResponse response;
  int64_t assignment = 0;  // its log's topic: LogTopic
};

// Everything that determined a job's decisions.
struct Record {
  SearchSpec spec;
  std::vector<Fact> facts;
  // What an ended job under objective.selection EXPECTED is recorded to hand out, and its job file.
  std::optional<v1::BestTrial> chosen = std::nullopt;
  v1::TuningJobSpec job = {};
};

// Clients' reads of committed rows. Each method reads one state of the file. Errors: NOT_FOUND names the job
// or trial, INVALID_ARGUMENT the field. Owner: the reader's thread.
class Reads {
 public:
  Reads(Store& store, Clock clock) : store_(store), clock_(std::move(clock)), views_(store) {}

  // What there is to say to jobs that wait for ranks of a shape; "": nothing. None is asked by default.
  using PoolWords = std::function<std::string(const RankShape&)>;
  void SetPoolWords(PoolWords words) { pool_words_ = std::move(words); }

  absl::StatusOr<v1::TuningJob> DescribeTuningJob(const std::string& id);
  // `visible`: jobs of these projects only; absent: of all. NOT_FOUND: the request's project is none of them.
  absl::StatusOr<v1::ListTuningJobsResponse> ListTuningJobs(
      const v1::ListTuningJobsRequest& request,
      std::optional<std::vector<std::string>> visible = std::nullopt);
  absl::StatusOr<v1::ListTrialsResponse> ListTrials(const v1::ListTrialsRequest& request);
  absl::StatusOr<v1::DescribeTrialResponse> DescribeTrial(const v1::DescribeTrialRequest& request);
  absl::StatusOr<v1::QueryMetricsResponse> QueryMetrics(const v1::QueryMetricsRequest& request);
  // FAILED_PRECONDITION for a job with one objective.
  absl::StatusOr<v1::ParetoFront> GetParetoFront(const v1::GetParetoFrontRequest& request);
  absl::StatusOr<v1::Schedule> GetSchedule(const v1::GetScheduleRequest& request);
  absl::StatusOr<v1::GetAnalyticsResponse> GetAnalytics(const v1::GetAnalyticsRequest& request);
  absl::StatusOr<LogAnswer> GetLogs(const v1::GetLogsRequest& request);
  absl::StatusOr<v1::GetLogTimesResponse> GetLogTimes(const v1::GetLogTimesRequest& request);
  // NOT_FOUND also if the trial's worker has stored nothing in the artifact store.
  absl::StatusOr<v1::Artifact> GetArtifact(const v1::GetArtifactRequest& request);
  // The job's source. NOT_FOUND: no such job, or it has none; PERMISSION_DENIED: `by` is neither the job's
  // owner nor a worker.
  absl::StatusOr<v1::Artifact> GetSource(const std::string& job_id, const Requester& by);
  // Blobs among these that `by` may read, which sees jobs of these projects: of their checkpoints and
  // models, and of the sources that it may read.
  absl::StatusOr<std::set<std::string>> ReadableBlobs(const std::vector<std::string>& digests,
                                                      const std::vector<std::string>& projects,
                                                      const Requester& by);
  // after = -1: only future events (an empty batch with the job's last sequence).
  absl::StatusOr<WatchBatch> Watch(const std::string& id, int64_t after);
  absl::StatusOr<Record> GetRecord(const std::string& id);
  // Shows the job's current state.
  absl::Status Look(const std::string& id, const std::function<void(const JobView&)>& look);
  // INVALID_ARGUMENT names the field.
  absl::StatusOr<v1::GetWorkerUsageResponse> GetWorkerUsage(const v1::GetWorkerUsageRequest& request);
  absl::StatusOr<v1::GetTrialUsageResponse> GetTrialUsage(const v1::GetTrialUsageRequest& request);
  // INVALID_ARGUMENT names the field.
  absl::StatusOr<v1::ListAuditEntriesResponse> ListAuditEntries(const v1::ListAuditEntriesRequest& request);
  absl::StatusOr<v1::ListDeliveriesResponse> ListDeliveries(const v1::ListDeliveriesRequest& request);
  // OK: rows can be read.
  absl::Status Probe();
  // Returns the id of the job of the project ("": the default one) that a create request made; "": none.
  absl::StatusOr<std::string> FindRequest(const std::string& request_id, const std::string& project);

 private:
  // The client's view of the job; with the reason for waiting if it runs and no present worker could train
  // it.
  absl::Status Message(const JobRow& row, v1::TuningJob& message);
  // The same; `reasons` are of the Store::Read that it is in.
  absl::Status Message(const JobRow& row, WaitReasons& reasons, v1::TuningJob& message);
  absl::StatusOr<std::vector<std::string>> RankingMetricsOf(const JobRow& row);
  Store& store_;
  Clock clock_;
  PoolWords pool_words_;
  JobViews views_;
};

// Answers clients' reads of jobs, trials, reports and logs.
using Reader = ReadingThread<Reads>;

}  // namespace winnow
