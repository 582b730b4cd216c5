#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/engine/artifacts.h"
#include "server/engine/asks.h"
#include "server/engine/client_attempts.h"
#include "server/engine/cluster.h"
#include "server/engine/context.h"
#include "server/engine/jobs.h"
#include "server/engine/requester.h"
#include "server/engine/sync.h"
#include "server/engine/usage.h"
#include "winnow/v1/admin.pb.h"

namespace winnow {

// Every use case, without threads: called inside a batch's transaction, one at a time. Owner: the coordinator
// thread.
class Engine {
 public:
  Engine(Store& store, EngineOptions options);

  // Reads everything anew from the tables. After an error the engine must not be used.
  absl::Status Load();

  // ---- use cases
  absl::StatusOr<std::string> CreateJob(const v1::TuningJobSpec& spec, const std::string& request_id,
                                        const WarmStart& start, const std::string& owner = "");
  absl::Status StopJob(const std::string& id, const Requester& by);
  absl::Status DeleteJob(const std::string& id, const Requester& by);
  void Sync(const v1::SyncRequest& request, SyncDone done, const std::string& caller = "") {
    desk_.Take(*jobs_, *cluster_, request, caller, std::move(done));
  }
  std::vector<v1::Worker> ListWorkers(bool include_gone) const;
  absl::StatusOr<v1::Worker> SetWorkerScheduling(const v1::SetWorkerSchedulingRequest& request);
  // What the model of a job answered; see SuggestionThread::Answer. Dropped if the job has moved on.
  void TakeSuggestion(int64_t job, const std::optional<Suggested>& answer);
  void SuggestTrials(int64_t ticket, const v1::SuggestTrialsRequest& request, const Requester& by, SuggestDone done) {
    asks_.Take(ticket, *jobs_, request, by, std::move(done));
  }
  void CancelSuggestTrials(int64_t ticket) { asks_.Cancel(ticket, *jobs_, *attempts_); }
  absl::StatusOr<v1::ReportMetricsResponse> ReportMetrics(const v1::ReportMetricsRequest& request, const Requester& by) {
    return attempts_->Report(request, by);
  }
  absl::StatusOr<v1::CompleteTrialResponse> CompleteTrial(const v1::CompleteTrialRequest& request, const Requester& by) {
    return attempts_->Complete(request, by);
  }
  absl::Status PutArtifact(const v1::PutArtifactRequest& request) {
    return artifacts_.Put(*jobs_, *cluster_, request);
  }
  // See Artifacts::AskModel.
  absl::Status AskModel(const v1::GetArtifactRequest& request);
  void LoseBlob(const std::string& digest) { artifacts_.LoseBlob(digest); }
  // Held calls are given up: none is held from now on.
  void StopHolding();

  // ---- the batch, in this order
  void Begin();        // forgets the failure of the last one
  void RenewLeases();  // after a while in which nobody was heard: all have a whole lease, as after Load
  void FireDeadlines(int64_t now_us);  // leases, time limits, held calls: what is due by then
  absl::Status Finish();               // gives out free slots and writes derived rows; not OK: roll back
  void Committed();                    // answers workers and clients
  // The batch is not in the file: everyone who waits is told to come again. Load follows.
  void RolledBack(const absl::Status& status);

  std::set<std::string> TakeChanged() { return std::exchange(context_.changed, {}); }
  // In Clock::steady_us.
  std::optional<int64_t> next_deadline() const { return context_.deadlines.next(); }
  // Answers all who wait with `status`.
  void RefuseAll(const absl::Status& status);

  Jobs& jobs() { return *jobs_; }
  Cluster& cluster() { return *cluster_; }
  Context& context() { return context_; }
  const RefusedReports& refused() const { return desk_.refused(); }
  const ReportCounts& reports() const { return desk_.reports(); }
  // How many have ended since the start, by state.
  const std::map<std::string, int64_t>& ended_jobs() const { return ended_jobs_; }
  size_t held_asks() const { return asks_.held(); }

 private:
  void Fire(Deadlines::Kind kind, const std::string& subject);
  void NodeTimeOver(OpenJob& job);
  void AskForModels();

  Context context_;
  Artifacts artifacts_;
  UsageDesk usage_;
  std::unique_ptr<Jobs> jobs_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<ClientAttempts> attempts_;
  SyncDesk desk_;
  AskDesk asks_;
  std::map<std::string, int64_t> ended_jobs_;
};

}  // namespace winnow
