#pragma once

#include <string>

#include "server/engine/attempts.h"
#include "server/engine/jobs.h"
#include "server/engine/workers.h"

namespace winnow {

// The one way in for what happens to jobs that are open. Recording a fact applies it, records the decisions that follow,
// stops the ranks of trials that ended, and records the ends of attempts that are thereby over, until nothing follows any
// more. Owner: the coordinator thread; every method runs inside the batch's transaction.
class Recorder {
 public:
  Recorder(Jobs& jobs, Workers& workers, Attempts& attempts) : jobs_(jobs), workers_(workers), attempts_(attempts) {}

  void Record(OpenJob& job, FactBody body);
  // A value of the objective; false: the same trial, attempt, resource and metric were reported before.
  bool RecordReport(OpenJob& job, const ReportRow& report);
  // Something that looks wrong; nothing happens if that kind was noticed before.
  void RecordNotice(OpenJob& job, Noticed notice);

  // Starts an attempt: a rank on each of `workers`, and the fact.
  void StartAttempt(OpenJob& job, TrialNumber trial, int64_t from, int64_t to, const std::vector<std::string>& workers);
  // See Attempts::EndRank. `rank` may not exist any more afterwards.
  void EndRank(Rank& rank, const RankEnd& end);
  // The worker is presumed dead: its ranks are lost.
  void LoseWorker(WorkerEntry& worker, const std::string& reason);
  // What was placed on a worker that now leaves, and that it was never told of, is handed back in its stead.
  void TakeBackUntold(WorkerEntry& worker);
  // What runs on the worker is handed back.
  void Drain(WorkerEntry& worker, const std::string& reason);

 private:
  void Stop(OpenJob& job, std::vector<TrialNumber> ended);

  Jobs& jobs_;
  Workers& workers_;
  Attempts& attempts_;
};

}  // namespace winnow
