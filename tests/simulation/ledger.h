#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "server/engine/engine.h"
#include "tests/simulation/sim_database.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// Records the system's inputs and answers, and reports the first violated invariant.
class Ledger {
 public:
  using Ticket = uint64_t;  // of one Sync that reached an engine

  explicit Ledger(SimDatabase* database) : database_(database) {}

  // Why the run has failed; "": it has not.
  const std::string& violation() const { return violation_; }
  void Fail(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }

  // ---- processes, as the hosts see them

  struct HostRoom {
    int slots = 1;
    double cpus = 0;
    int gpus = 0;  // named 0, 1, 2, …
  };
  void Prepared(const v1::Assignment& assignment);
  void Started(const std::string& host, const HostRoom& room, const v1::Assignment& assignment);
  // Its process has left its slot.
  void Saves(const std::string& assignment);
  void Ended(const std::string& assignment);
  void Emitted(const v1::Assignment& assignment, int64_t resource, double value);
  // The level that rank 0 of its attempt has reported; 0: none.
  int64_t Reached(const v1::Assignment& assignment) const;
  // The number of running ranks of its attempt.
  int RunningRanks(const v1::Assignment& assignment) const;
  // A checkpoint of that level is visible to workers with that storage.
  void Saved(const std::string& storage, const v1::Assignment& assignment, int64_t level);
  // A process has trained to that level, and has yet to write its checkpoint.
  void Writes(const std::string& storage, const v1::Assignment& assignment, int64_t level);
  // The level from which its process goes on with that storage; absent: its checkpoint is missing.
  std::optional<int64_t> Checkpoint(const std::string& storage, const v1::Assignment& assignment);
  // A rank 0 is prepared whose trial goes on from another one's checkpoint: it gets its own copy, unless it
  // has one. Checks that the other was not trained on before.
  void TakeCheckpoint(const std::string& storage, const v1::Assignment& assignment);

  // ---- Syncs, inside the transaction; then their results

  // Calls `take` in between.
  Ticket Take(const v1::SyncRequest& request, const std::function<void()>& take);
  void Committed();
  void RolledBack();
  // It was answered with OK.
  void Acknowledged(Ticket ticket);

  // The host's worker takes so many ranks beyond its slots; unless told, none.
  void TakesAhead(const std::string& host, int ranks) { ahead_[host] = ranks; }
  // Checks the engine's state between two batches; `thorough`: also compares it with the loaded state.
  void CheckEngine(Engine& engine, bool thorough);
  // The job has ended, or the run is over: checks everything stored of it.
  void CheckStored(const std::string& job_id);
  // Checks that no assignment is held any more.
  void CheckReleased();

  int64_t decisions() const { return decisions_; }
  int64_t facts() const { return facts_; }
  int64_t reports() const { return static_cast<int64_t>(accepted_.size()); }

 private:
  using ReportKey = std::tuple<int64_t, TrialNumber, int64_t, int64_t>;  // job, trial, attempt, resource
  using AttemptKey = std::tuple<std::string, TrialNumber, int64_t>;
  struct Process {
    std::string host;
    v1::Assignment assignment;
    bool saves = false;
  };

  void CheckGpus(const std::string& host, const HostRoom& room, const v1::Assignment& assignment);
  void CheckOutcome(const std::string& assignment);
  void CheckReload(Engine& engine);
  void CheckEnds(Engine& engine);
  // Fails if the batch is committed.
  void FailOnCommit(const std::string& what) {
    if (pending_violation_.empty()) pending_violation_ = what;
  }
  std::optional<AssignmentRow> Find(const std::string& assignment);
  std::optional<double> Known(const ReportKey& key) const;
  std::optional<double> Stored(const ReportKey& key, const std::string& metric);

  Store& store() const { return database_->store(); }

  SimDatabase* const database_;
  std::string violation_;
  std::string pending_violation_;  // of the current batch
  std::string metric_ = "loss";

  std::map<std::string, Process> processes_;  // by assignment
  std::map<std::string, int> ahead_;          // by host
  std::set<std::string> ever_started_;
  std::set<std::string> looked_at_;  // by CheckEnds
  std::map<AttemptKey, std::set<int>> prepared_;
  std::map<std::string, std::map<int64_t, double>> emitted_;  // by assignment
  std::map<AttemptKey, int64_t> reached_;
  using StoredTrial = std::tuple<std::string, std::string, TrialNumber>;  // storage, job, trial
  std::map<StoredTrial, int64_t> checkpoints_;
  std::map<StoredTrial, std::pair<std::string, int64_t>> unsaved_;  // assignment and level of the newest

  std::map<ReportKey, double> accepted_;  // committed
  std::map<ReportKey, double> pending_;   // of the current batch
  Ticket last_ticket_ = 0;
  Ticket first_pending_ = 1;  // of the current batch
  std::map<Ticket, std::vector<ReportKey>> taken_;
  int64_t decisions_ = 0;
  int64_t facts_ = 0;
};

}  // namespace winnow
