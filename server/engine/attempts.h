#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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

// The id of the job that an assignment is of, by its own id.
std::string_view JobOfAssignment(std::string_view id);

// The live attempts that workers train: their ranks, in memory and in the tables. An attempt ends when all
// its ranks are gone, so that no two attempts of a trial ever write one checkpoint. No method records a fact:
// one that starts or ends an attempt returns the fact for the caller to record (see Recorder). Owner: the
// coordinator thread; every method runs inside the batch's transaction.
class Attempts {
 public:
  Attempts(Context& context, const Jobs& jobs, Workers& workers, Artifacts& artifacts, UsageRecorder& usage)
      : context_(context), jobs_(jobs), workers_(workers), artifacts_(artifacts), usage_(usage) {}

  // Reads everything anew. REQUIRES jobs, workers and artifacts are loaded.
  absl::Status Load();

  // By assignment id. Null: unknown, or gone.
  Rank* Find(const std::string& id);
  // Places a rank in each of `places`. The fact is to be recorded.
  AttemptStarted Place(const OpenJob& job, TrialNumber trial, int64_t from, int64_t to,
                       const std::vector<RankPlace>& places);
  // The rank's worker has prepared it. Once all ranks of the attempt are prepared, they are to start.
  void Prepared(Rank& rank, int32_t rendezvous_port);
  // A worker because of which the ranks of the attempt, which could encrypt what they tell each other, do
  // not; null: they do, or are not to.
  const WorkerRow* PlainFor(const Rank& rank) const;
  // Whether all ranks of its attempt run.
  bool AllRun(const Rank& rank) const;
  // The rank is gone. If its attempt cannot succeed any more, the other ranks are revoked. Returns the end of
  // the attempt if no rank is left; then `rank` does not exist any more.
  std::optional<AttemptEnded> EndRank(Rank& rank, const RankEnd& said);
  // The rank's worker is drained: the rank is to stop, and the trial goes on elsewhere. REQUIRES an answer
  // has named the rank to its worker.
  void Drain(Rank& rank, const std::string& reason);
  // The ranks of the trial's live attempt that are not gone.
  std::vector<Rank*> RanksOf(const OpenJob& job, TrialNumber trial);
  // The trial has ended: its ranks are revoked. Returns the end of the attempt if no answer had named any
  // rank.
  std::optional<AttemptEnded> Stop(const OpenJob& job, TrialNumber trial);

  // Drops where the job's trials ran last. REQUIRES the job has ended.
  void ForgetJob(int64_t job);

  // The nodes that the trial needs and, to resume from a level above 0, where rank 0 ran last.
  GangRequest Gang(const OpenJob& job, TrialNumber trial, int64_t from) const;

 private:
  using AttemptKey = std::pair<int64_t, TrialNumber>;  // job, trial: a trial has at most one live attempt
  using Ranks = std::vector<Rank>;                     // by rank; gone ones included

  static AttemptKey KeyOf(const Rank& rank) { return {rank.row.job, rank.row.trial}; }
  // The pools of the ranks' workers, and what an hour of each costs.
  void AddPrices(const Ranks& ranks, AttemptStarted& started) const;
  void Hold(Rank& rank);
  // Whether the ranks are to encrypt what they tell each other.
  bool AreToEncrypt(const Ranks& ranks) const;
  void GiveCredentials(const OpenJob& job, Ranks& ranks);
  void Revoke(Rank& rank, RankState state, const std::string& reason);
  void Remove(Rank& rank, const RankEnd& said);
  std::optional<AttemptEnded> EndIfOver(AttemptKey key);
  v1::Assignment Describe(const OpenJob& job, const Ranks& ranks, size_t rank) const;
  absl::Status SetHomeBefore(AttemptKey key, int64_t attempt);
  void SetStorage(const OpenJob& job, const TrialState& trial, const Ranks& ranks,
                  v1::Assignment& message) const;

  Context& context_;
  const Jobs& jobs_;
  Workers& workers_;
  Artifacts& artifacts_;
  UsageRecorder& usage_;
  std::map<AttemptKey, Ranks> attempts_;
  std::map<std::string, Rank*> ranks_;       // in attempts_, by assignment id; not gone
  std::map<AttemptKey, std::string> homes_;  // worker of rank 0 of the newest attempt
};

}  // namespace winnow
