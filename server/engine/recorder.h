#pragma once

#include <string>

#include "server/engine/attempts.h"
#include "server/engine/jobs.h"
#include "server/engine/workers.h"

namespace winnow {

// The one way to record what happens to an open job. Recording a fact applies it, records the decisions that
// follow from it, revokes the ranks of trials that ended, records the ends of attempts that are over by that,
// and so on until nothing follows any more. Owner: the coordinator thread; every method runs inside the
// batch's transaction.
class Recorder {
 public:
  static constexpr int64_t kMostUnprepared = 3;

  Recorder(Jobs& jobs, Workers& workers, Attempts& attempts)
      : jobs_(jobs), workers_(workers), attempts_(attempts) {}

  void Record(OpenJob& job, FactBody body);
  // Records a value of the objective. False: it was reported before (same trial, attempt, resource and
  // metric).
  bool RecordReport(OpenJob& job, const ReportRow& report);
  // Records something that looks wrong, unless the job has a notice of that kind.
  void RecordNotice(OpenJob& job, Noticed notice);

  // Starts an attempt: a rank on each of `workers`, and the fact.
  void StartAttempt(OpenJob& job, TrialNumber trial, int64_t from, int64_t to,
                    const std::vector<RankPlace>& ranks);
  // See Attempts::EndRank. `rank` may not exist any more afterwards.
  void EndRank(Rank& rank, const RankEnd& end);
  // What the job asked for could not be prepared on the rank's worker: `what`, such as "The setup of the
  // job's source failed". If that happens kMostUnprepared times before any rank has run, the job ends as
  // failed for that reason. Later failures are the workers' own.
  void EndUnprepared(Rank& rank, const RankEnd& end, std::string_view what);
  // The worker is presumed dead: its ranks are lost.
  void LoseWorker(WorkerEntry& worker, const std::string& reason);
  // Hands back the ranks that no answer has named to the worker, which leaves.
  void TakeBackUntold(WorkerEntry& worker);
  // Hands back all ranks of the worker; those that it may run, once it has stopped them.
  void Drain(WorkerEntry& worker, const std::string& reason);
  // The trial's attempt is to stop and is handed back, because of other jobs; it goes on later.
  void Preempt(OpenJob& job, TrialNumber trial, const std::string& reason);

 private:
  void Stop(OpenJob& job, std::vector<TrialNumber> ended);
  static void CountStart(PartStart start, OpenJob& job);

  Jobs& jobs_;
  Workers& workers_;
  Attempts& attempts_;
};

}  // namespace winnow
