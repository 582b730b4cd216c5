#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/attempt_end.h"
#include "scheduler/placement.h"
#include "server/engine/artifacts.h"
#include "server/engine/context.h"
#include "server/engine/jobs.h"
#include "server/engine/rank.h"
#include "server/engine/usage.h"
#include "server/engine/workers.h"

namespace winnow {

// The attempts that workers train and that have not ended: their ranks, in memory and in the tables. An attempt ends when
// all its ranks are gone, so that no two attempts of a trial ever write one checkpoint. Records no facts: the end of an
// attempt is returned, for the caller to record (see Recorder). Owner: the coordinator thread; every method runs inside the
// batch's transaction.
class Attempts {
 public:
  Attempts(Context& context, const Jobs& jobs, Workers& workers, Artifacts& artifacts, UsageDesk& usage)
      : context_(context), jobs_(jobs), workers_(workers), artifacts_(artifacts), usage_(usage) {}

  // Reads everything anew. REQUIRES jobs, workers and artifacts are loaded.
  absl::Status Load();

  // By assignment id. Null: unknown, or gone.
  Rank* Find(const std::string& id);
  // Places a rank on each of `workers`. The fact is to be recorded.
  AttemptStarted Place(const OpenJob& job, TrialNumber trial, int64_t from, int64_t to,
                       const std::vector<std::string>& workers);
  // The rank's worker has made it ready. When all ranks of the attempt are, they are told to start.
  void Prepared(Rank& rank, int32_t rendezvous_port);
  // Whether all ranks of its attempt run.
  bool AllRun(const Rank& rank) const;
  // The rank is gone. The other ranks of an attempt that cannot succeed any more are revoked. The attempt's end, if that
  // was the last rank: then `rank` does not exist any more.
  std::optional<AttemptEnded> EndRank(Rank& rank, const RankEnd& said);
  // The rank's worker is drained: it is to stop, and the trial goes on elsewhere. REQUIRES its worker was told of it.
  void Drain(Rank& rank, const std::string& reason);
  // The trial has ended: its ranks are revoked. The end of its attempt, if no worker was told of any.
  std::optional<AttemptEnded> Stop(const OpenJob& job, TrialNumber trial);

  // The job has ended: where its trials ran matters no more.
  void ForgetJob(int64_t job);

  // Where a gang that resumes the trial from that level would best be: where rank 0 of its newest attempt ran.
  GangRequest Gang(const OpenJob& job, TrialNumber trial, int64_t from) const;

 private:
  using AttemptKey = std::pair<int64_t, TrialNumber>;  // job, trial: a trial has at most one live attempt
  using Ranks = std::vector<Rank>;                     // by rank; gone ones included

  static AttemptKey KeyOf(const Rank& rank) { return {rank.row.job, rank.row.trial}; }
  void Hold(Rank& rank);
  void Revoke(Rank& rank, RankState state, const std::string& reason);
  void Remove(Rank& rank, const RankEnd& said);
  std::optional<AttemptEnded> EndIfOver(AttemptKey key);
  v1::Assignment Describe(const OpenJob& job, const Ranks& ranks, size_t rank) const;
  absl::Status SetHomeBefore(AttemptKey key, int64_t attempt);
  void SetStorage(const TrialState& trial, const Ranks& ranks, v1::Assignment& message) const;

  Context& context_;
  const Jobs& jobs_;
  Workers& workers_;
  Artifacts& artifacts_;
  UsageDesk& usage_;
  std::map<AttemptKey, Ranks> attempts_;
  std::map<std::string, Rank*> ranks_;       // in attempts_, by assignment id; not gone
  std::map<AttemptKey, std::string> homes_;  // worker of rank 0 of the newest attempt
};

}  // namespace winnow
