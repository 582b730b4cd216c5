#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "scheduler/placement.h"
#include "server/context.h"
#include "server/jobs.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

struct HeldAssignment {
  AssignmentRow row;
  v1::Assignment message;  // as its worker is told
  bool told = false;       // some answer has named it, so the worker may hold it
};

struct WorkerEntry {
  WorkerRow row;
  std::map<std::string, HeldAssignment*> held;  // not gone; each takes a slot

  bool live() const { return row.state == "live"; }
  bool present() const { return row.state == "live" || row.state == "leaving"; }
};

// How a rank ended, as its worker says or its absence tells.
struct RankEnd {
  std::string outcome;  // finished, failed, lost, handed_back, stopped
  std::string reason;
  int64_t start_us = 0;  // 0: it never ran
  int64_t end_us = 0;
};

// Workers, and the attempts that they hold: rows and their index in memory. An attempt ends when all its
// ranks are gone, so that no two attempts of a trial ever write one checkpoint. Owner: the coordinator
// thread.
class Cluster {
 public:
  Cluster(Context& context, Jobs& jobs) : context_(context), jobs_(jobs) {}

  // REQUIRES jobs are loaded. Every worker that was there gets a whole lease.
  absl::Status Load();

  WorkerEntry* FindWorker(const std::string& id);
  WorkerEntry* FindPresentByName(const std::string& name);
  WorkerEntry& Register(WorkerRow row);
  void RenewLease(WorkerEntry& worker);
  // It is presumed dead: its ranks are lost.
  void Lose(WorkerEntry& worker, const std::string& reason);
  void Leave(WorkerEntry& worker);  // REQUIRES it holds nothing
  // What was placed on a worker that now leaves, and that it was never told of, is handed back in its stead.
  void TakeBackUntold(WorkerEntry& worker);
  std::vector<WorkerRoom> Rooms() const;
  // Whether the slots of all live workers together would hold the gang.
  bool CouldHold(int32_t nodes) const;

  // Null: unknown, or gone.
  HeldAssignment* FindAssignment(const std::string& id);
  // Starts an attempt: the fact, and a rank on each of `workers`.
  void StartAttempt(OpenJob& job, TrialNumber trial, int64_t from, int64_t to,
                    const std::vector<std::string>& workers);
  // The rank is gone. The other ranks of an attempt that cannot succeed any more are revoked.
  void EndRank(HeldAssignment& assignment, const RankEnd& end);

  // Records the fact, its decisions, and stops the processes of trials that ended by them.
  void Observe(OpenJob& job, FactBody body);
  bool ObserveReport(OpenJob& job, const ReportRow& report);
  bool StoreMetric(OpenJob& job, const ReportRow& report) { return jobs_.StoreMetric(job, report); }

  // How many attempts of the job are placed and have not ended.
  int64_t LiveAttempts(const OpenJob& job) const;
  // Where the trial's newest attempt ran; "" for both: nowhere.
  GangRequest Gang(const OpenJob& job, TrialNumber trial, int64_t from) const;
  // Whether all of them have that storage. REQUIRES known worker ids.
  bool Share(const std::vector<std::string>& workers, const std::string& storage_id) const;

  // Workers whose list of wanted assignments has changed since this was last cleared.
  std::set<std::string> attention;
  // Their ids were given up in this batch: held calls are to be refused.
  std::set<std::string> dismissed;

  const std::map<std::string, WorkerEntry>& workers() const { return workers_; }

 private:
  using AttemptKey = std::pair<int64_t, TrialNumber>;  // a trial has at most one live attempt

  void Revoke(HeldAssignment& assignment);
  void RevokeTrial(OpenJob& job, TrialNumber trial);
  void Settle();
  void EndAttempt(AttemptKey key);
  v1::Assignment Describe(const OpenJob& job, const std::vector<AssignmentRow>& ranks, size_t rank) const;
  int32_t FreePort(const WorkerEntry& worker) const;
  void Hold(AssignmentRow row, v1::Assignment message, bool told);

  Context& context_;
  Jobs& jobs_;
  std::map<std::string, WorkerEntry> workers_;
  std::map<std::string, std::unique_ptr<HeldAssignment>> held_;  // by id; not gone
  std::map<AttemptKey, std::vector<AssignmentRow>> attempts_;    // by rank; gone ones included
  std::map<AttemptKey, std::string> homes_;                      // worker of rank 0 of the newest attempt
  bool settling_ = false;
};

}  // namespace winnow
