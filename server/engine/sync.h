#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/engine/artifacts.h"
#include "server/engine/attempts.h"
#include "server/engine/context.h"
#include "server/engine/jobs.h"
#include "server/engine/recorder.h"
#include "server/engine/usage.h"
#include "server/engine/workers.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

using SyncDone = std::function<void(absl::StatusOr<v1::SyncResponse>)>;

// Numbers of values refused since the start; for tests and metrics.
struct RefusedReports {
  int64_t fenced = 0;         // the assignment is not live, or another worker's
  int64_t duplicate = 0;      // the value was reported before
  int64_t beyond_budget = 0;  // the resource is above the attempt's end, or below 1
  int64_t long_metric = 0;    // the metric's name has more than kMostMetricBytes
};

// Numbers of reports since the start. Reports of a batch that was not recorded come again.
struct ReportCounts {
  int64_t accepted = 0;   // with at least one new value
  int64_t duplicate = 0;  // without one
};

// Sync (proto/winnow/v1/worker.proto): takes in what a worker says, and answers at once or when there is
// something to answer. Owner: the coordinator thread.
class SyncCalls {
 public:
  SyncCalls(Context& context, Jobs& jobs, Workers& workers, Attempts& attempts, Recorder& recorder,
            Artifacts& artifacts, UsageRecorder& usage)
      : context_(context),
        jobs_(jobs),
        workers_(workers),
        attempts_(attempts),
        recorder_(recorder),
        artifacts_(artifacts),
        usage_(usage),
        started_us_(context.wall_us()) {}

  // Inside the transaction. Answer or RefuseAll calls `done` exactly once. `caller`: the id of the call's
  // token, or ""; a call with another token than the worker's is refused.
  // `projects`: those whose jobs the worker may run; empty: all.
  void Take(const v1::SyncRequest& request, const std::string& caller,
            const std::vector<std::string>& projects, SyncDone done);
  // After the commit: answers every call that is due.
  void Answer();
  // Answers every call with `status`.
  void RefuseAll(const absl::Status& status);
  // From now on every call is answered at once.
  void StopHolding() { holding_ = false; }
  void HoldExpired(const std::string& worker) { due_.insert(worker); }

  const RefusedReports& refused() const { return refused_; }
  const ReportCounts& reports() const { return reports_; }

 private:
  struct Call {
    SyncDone done;
    std::set<std::string> stated;  // assignments that it said it runs or is stopping
    std::set<std::string> running;
    std::set<std::string> prepared;
    std::vector<std::string> deleted;  // of the jobs that it named, the marks of deleted ones
    bool at_once = false;
  };

  absl::Status NameInUse(const WorkerEntry& holder) const;
  absl::StatusOr<WorkerEntry*> Admit(const v1::SyncRequest& request, const std::string& caller,
                                     const std::vector<std::string>& projects);
  void TakeReports(const WorkerEntry& worker, const v1::SyncRequest& request);
  void TakeReport(OpenJob& job, const AssignmentRow& row, const v1::Report& report);
  void TakeLogs(const WorkerEntry& worker, const v1::SyncRequest& request);
  void TakeNotices(const WorkerEntry& worker, const v1::SyncRequest& request);
  void NoteTaken(const Rank& rank);
  void NotePlain(const Rank& rank);
  void NoteRunning(Rank& rank);
  std::vector<std::string> DeletedOf(const v1::SyncRequest& request);
  static void TakeWaiting(WorkerEntry& worker, const v1::SyncRequest& request);
  void TakeOutcomes(WorkerEntry& worker, const v1::SyncRequest& request);
  bool Differs(const Call& call, const WorkerEntry& worker) const;
  // Whether the program's trial may go on where it waits. False: another worker has the trial, it has ended,
  // or its checkpoint is another one.
  bool MayGoOn(const WorkerEntry& worker, const v1::WaitingTrainer& program) const;
  // The worker's waiting programs whose trials will probably not go on, the least probable first.
  std::vector<v1::WaitingTrainer> BestSpared(const WorkerEntry& worker) const;
  v1::SyncResponse Compose(WorkerEntry& worker, const Call& call) const;

  Context& context_;
  Jobs& jobs_;
  Workers& workers_;
  Attempts& attempts_;
  Recorder& recorder_;
  Artifacts& artifacts_;
  UsageRecorder& usage_;
  const int64_t started_us_;
  bool holding_ = true;
  std::map<std::string, Call> calls_;                // each worker's newest call, by worker id
  std::vector<std::pair<std::string, Call>> older_;  // calls that a newer one follows: answered at once
  std::vector<std::pair<absl::Status, SyncDone>> refused_calls_;
  std::set<std::string> due_;  // workers whose call is to be answered now
  RefusedReports refused_;
  ReportCounts reports_;
};

}  // namespace winnow
