#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/engine/annotations.h"
#include "server/engine/answers/requester.h"
#include "server/engine/artifacts.h"
#include "server/engine/attempts.h"
#include "server/engine/client_attempts.h"
#include "server/engine/context.h"
#include "server/engine/jobs.h"
#include "server/engine/recorder.h"
#include "server/engine/suggest_calls.h"
#include "server/engine/sync.h"
#include "server/engine/usage.h"
#include "server/engine/workers.h"
#include "store/tables/change_requests.h"
#include "store/tables/removal.h"
#include "winnow/v1/admin.pb.h"

namespace winnow {

// Every use case. Has no threads: use cases are called one at a time, inside a batch's transaction. Owner:
// the coordinator thread.
class Engine {
 public:
  Engine(Store& store, EngineOptions options);

  // Reads everything anew from the tables. After an error the engine must not be used.
  absl::Status Load();

  // ---- use cases
  absl::StatusOr<std::string> CreateJob(const v1::TuningJobSpec& spec, const std::string& request_id,
                                        const WarmStart& start, const std::string& owner = "",
                                        const v1::Source* source = nullptr, const std::string& project = "");
  absl::Status StopJob(const std::string& id, const Requester& by);
  // Records what ChangeTuningJob asks for, unless a change with its request id was made already. A job that
  // is continued is open again then.
  absl::Status ChangeJob(const v1::ChangeTuningJobRequest& request, const Requester& by);
  absl::Status DeleteJob(const std::string& id, const Requester& by);
  absl::StatusOr<v1::Annotation> Annotate(const v1::AnnotateRequest& request, const Requester& by) {
    return winnow::Annotate(context_, request, by);
  }
  void Sync(const v1::SyncRequest& request, SyncDone done, const std::string& caller = "",
            const std::vector<std::string>& projects = {}) {
    sync_calls_.Take(request, caller, projects, std::move(done));
  }
  std::vector<v1::Worker> ListWorkers(bool include_gone) const;
  absl::StatusOr<v1::Worker> SetWorkerScheduling(const v1::SetWorkerSchedulingRequest& request);
  // What a job's search model answered to a question of `epoch`; see SuggestionThread::Answer. Dropped if the
  // job has moved on.
  void TakeSuggestion(int64_t job, int64_t epoch, const std::optional<Suggested>& answer);
  // Which trial an ended job hands out where objective.selection is EXPECTED: kept in its description, and
  // its model file is fetched. `best` absent: the job has no best trial.
  void TakeChoice(const std::string& id, int64_t job, const std::optional<v1::BestTrial>& best);
  void SuggestTrials(int64_t ticket, const v1::SuggestTrialsRequest& request, const Requester& by,
                     SuggestDone done) {
    suggest_calls_.Take(ticket, request, by, std::move(done));
  }
  void CancelSuggestTrials(int64_t ticket) { suggest_calls_.Cancel(ticket); }
  absl::StatusOr<v1::ReportMetricsResponse> ReportMetrics(const v1::ReportMetricsRequest& request,
                                                          const Requester& by) {
    return client_attempts_.Report(request, by);
  }
  absl::StatusOr<v1::CompleteTrialResponse> CompleteTrial(const v1::CompleteTrialRequest& request,
                                                          const Requester& by) {
    return client_attempts_.Complete(request, by);
  }
  absl::Status PutArtifact(const v1::PutArtifactRequest& request, const Requester& by) {
    return artifacts_.Put(request, attempts_.Find(request.assignment_id()), by);
  }
  // See Artifacts::RequestModelFile.
  absl::Status RequestModelFile(const v1::GetArtifactRequest& request);
  void LoseBlob(const std::string& digest) { artifacts_.LoseBlob(digest); }
  // Ends held calls with UNAVAILABLE; none is held from now on.
  void StopHolding();

  // Reads the quotas and projects anew, which were changed in this batch.
  absl::Status ReloadProjects();
  ProjectBook& projects() { return projects_; }

  // ---- the batch, in this order
  void Begin();        // forgets the failure of the last one
  void RenewLeases();  // after a while in which nothing was received: all get a whole lease, as after Load
  void FireDeadlines(int64_t now_us);  // leases, time limits and held calls that are due by then
  absl::Status Finish();               // gives out free slots and writes derived rows; not OK: roll back
  // To search models that may be asked while the batch is still open: after Finish, which may then be called
  // again. Committed puts all others among the effects.
  std::vector<Question> TakeQuestions();
  void Committed();  // answers workers and clients
  // The batch is not in the file: all held calls are refused with `status`. Load follows.
  void RolledBack(const absl::Status& status);

  // What committed batches ask of others.
  struct Effects {
    std::vector<Question> questions;      // to search models
    std::vector<ChoiceQuestion> choices;  // which trial these ended jobs hand out
    std::vector<int64_t> ended;           // keys of jobs
    std::set<std::string> topics;         // to publish (see Hub)
  };
  // Those since the last call.
  Effects TakeEffects() { return std::exchange(effects_, {}); }
  // In Clock::steady_us.
  std::optional<int64_t> next_deadline() const { return context_.deadlines.next(); }
  // Ends all held calls with `status`.
  void RefuseAll(const absl::Status& status);

  Jobs& jobs() { return jobs_; }
  Workers& workers() { return workers_; }
  Attempts& attempts() { return attempts_; }
  Recorder& recorder() { return recorder_; }
  Context& context() { return context_; }
  const RefusedReports& refused() const { return sync_calls_.refused(); }
  const ReportCounts& reports() const { return sync_calls_.reports(); }
  // The numbers of jobs that have ended since the start, by state.
  const std::map<std::string, int64_t>& ended_jobs() const { return ended_jobs_; }
  size_t held_suggest_calls() const { return suggest_calls_.held(); }

 private:
  absl::StatusOr<bool> WasMade(int64_t job, const std::string& request_id);
  void Fire(Deadlines::Kind kind, const std::string& subject);
  void NodeTimeOver(OpenJob& job);
  void CostOver(OpenJob& job);
  absl::Status LoadProjects();
  // Stops the trials of projects and persons that have used up their node-hours of this month.
  void NodeHoursOver();
  // Records what projects hold, and when node-hours will be used up. REQUIRES all other work is done.
  void SettleProjects();
  void RemoveOldAudit();
  void DeleteAsOld(const JobRow& row, const char* why);
  void DeleteOldJobs();
  void RemoveDeleted();
  void Delete(const JobRow& row);
  absl::Status AskOpenChoices();
  void AnswerNow(const std::set<std::string>& workers);

  // Each has references to those before it that it uses.
  Context context_;
  Jobs jobs_{context_};
  Workers workers_{context_};
  UsageRecorder usage_{context_};
  Artifacts artifacts_{context_, jobs_, workers_, context_.options.blobs};
  Attempts attempts_{context_, jobs_, workers_, artifacts_, usage_};
  Recorder recorder_{jobs_, workers_, attempts_};
  ClientAttempts client_attempts_{context_, jobs_, recorder_};
  SyncCalls sync_calls_{context_, jobs_, workers_, attempts_, recorder_, artifacts_, usage_};
  SuggestCalls suggest_calls_{context_, jobs_, client_attempts_};
  ProjectBook projects_{context_.store.database(), context_.options.projects, artifacts_.stored()};
  Removal removal_{context_.store.database()};
  ChangeRequestTable change_requests_{context_.store.database()};
  Effects effects_;
  int64_t epoch_ = 0;  // of questions
  std::map<std::string, int64_t> ended_jobs_;
};

}  // namespace winnow
