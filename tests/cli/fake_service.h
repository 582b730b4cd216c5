#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "winnow/v1/artifact.grpc.pb.h"
#include "winnow/v1/insight.grpc.pb.h"
#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {

// A TuningService that answers from the test's data, on a port of the system's choice. Members that tests use
// while it serves are guarded by mutex.
class FakeService : public v1::TuningService::Service,
                    private v1::InsightService::Service,
                    private v1::ArtifactService::Service {
 public:
  FakeService();
  ~FakeService() override;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // Breaks every connection; Start listens again, on the same port.
  void Stop();
  void Start();

  // Watch streams send these in order, and end after one whose job has ended.
  void PutEvent(v1::TuningJobEvent event);
  // Waits until this many watches have been opened in total.
  void AwaitWatches(int count);

  std::mutex mutex;
  std::vector<v1::TuningJob> jobs;  // newest first
  std::vector<v1::Trial> trials;    // of any job
  v1::DescribeTrialResponse trial_details;
  v1::QueryMetricsResponse metrics;
  v1::ListWorkersResponse workers;
  std::string log;                       // output of every trial
  std::optional<std::string> error_log;  // standard error of every trial; absent: the same
  size_t log_chunk = 1 << 20;            // most bytes of one answer
  bool log_grows = false;                // the process of `log` has not ended
  bool log_is_long = false;              // so that its end comes when the process has ended
  grpc::Status refusal;                  // of CreateTuningJob, if not OK
  v1::CreateTuningJobRequest created;
  v1::ListTrialsRequest trials_asked;
  v1::QueryMetricsRequest metrics_asked;
  int analytics_page = 1000;      // trials of a page at most, whatever is asked for
  v1::GetLogsRequest logs_asked;  // the last
  v1::ParetoFront front;
  v1::Artifact artifact;  // of every trial
  v1::Comparison comparison;
  grpc::Status comparison_refusal;  // if not OK
  v1::QueryTrialsResponse table;
  v1::QueryTrialsRequest table_asked;
  v1::CompareRequest compare_asked;
  std::vector<int64_t> watched_after;
  v1::ReplayTuningJobResponse replay;
  v1::SuggestTrialsResponse suggestion;
  v1::ReportMetricsResponse report_answer;
  v1::SuggestTrialsRequest suggest_asked;
  v1::ReportMetricsRequest reported;
  v1::CompleteTrialRequest completed;
  v1::ListTuningJobsRequest jobs_asked;  // the last
  v1::ChangeTuningJobRequest changed;    // the last; answered with a change whose text is its reason
  v1::AnnotateRequest annotated;         // the last; answered with its tags and note

 private:
  template <class T>
  using Writer = grpc::ServerWriter<T>;
  using Context = grpc::ServerContext;

  grpc::Status CreateTuningJob(Context*, const v1::CreateTuningJobRequest*, v1::TuningJob*) override;
  grpc::Status DescribeTuningJob(Context*, const v1::DescribeTuningJobRequest*, v1::TuningJob*) override;
  grpc::Status ListTuningJobs(Context*, const v1::ListTuningJobsRequest*,
                              v1::ListTuningJobsResponse*) override;
  grpc::Status StopTuningJob(Context*, const v1::StopTuningJobRequest*, v1::TuningJob*) override;
  grpc::Status ChangeTuningJob(Context*, const v1::ChangeTuningJobRequest*, v1::TuningJob*) override;
  grpc::Status DeleteTuningJob(Context*, const v1::DeleteTuningJobRequest*,
                               v1::DeleteTuningJobResponse*) override;
  grpc::Status Annotate(Context*, const v1::AnnotateRequest*, v1::AnnotateResponse*) override;
  grpc::Status ListTrials(Context*, const v1::ListTrialsRequest*, v1::ListTrialsResponse*) override;
  grpc::Status DescribeTrial(Context*, const v1::DescribeTrialRequest*, v1::DescribeTrialResponse*) override;
  grpc::Status QueryMetrics(Context*, const v1::QueryMetricsRequest*, v1::QueryMetricsResponse*) override;
  grpc::Status GetAnalytics(Context*, const v1::GetAnalyticsRequest*, v1::GetAnalyticsResponse*) override;
  grpc::Status GetParetoFront(Context*, const v1::GetParetoFrontRequest*, v1::ParetoFront*) override;
  grpc::Status WatchTuningJob(Context*, const v1::WatchTuningJobRequest*,
                              Writer<v1::TuningJobEvent>*) override;
  grpc::Status ListWorkers(Context*, const v1::ListWorkersRequest*, v1::ListWorkersResponse*) override;
  grpc::Status GetLogs(Context*, const v1::GetLogsRequest*, v1::GetLogsResponse*) override;
  grpc::Status ReplayTuningJob(Context*, const v1::ReplayTuningJobRequest*,
                               v1::ReplayTuningJobResponse*) override;
  grpc::Status SuggestTrials(Context*, const v1::SuggestTrialsRequest*, v1::SuggestTrialsResponse*) override;
  grpc::Status ReportMetrics(Context*, const v1::ReportMetricsRequest*, v1::ReportMetricsResponse*) override;
  grpc::Status CompleteTrial(Context*, const v1::CompleteTrialRequest*, v1::CompleteTrialResponse*) override;

  grpc::Status QueryTrials(Context*, const v1::QueryTrialsRequest*, v1::QueryTrialsResponse*) override;
  grpc::Status GetArtifact(Context*, const v1::GetArtifactRequest*, v1::Artifact*) override;
  grpc::Status Compare(Context*, const v1::CompareRequest*, v1::Comparison*) override;

  v1::TuningJob* Find(const std::string& id);  // REQUIRES: mutex is held

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::condition_variable changed_;
  std::deque<v1::TuningJobEvent> events_;  // guarded by mutex
  bool stopping_ = false;                  // guarded by mutex
};

}  // namespace winnow
