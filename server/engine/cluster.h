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
#include "server/engine/context.h"
#include "server/engine/held_slots.h"
#include "server/engine/jobs.h"
#include "server/engine/worker_marks.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

struct HeldAssignment {
  AssignmentRow row;
  v1::Assignment message;  // as its worker is told
  bool told = false;       // some answer has named it, so the worker may hold it
  bool stated = false;     // its worker has said that it holds it: it is gone only when that says so
  bool runs = false;       // its worker has said so, since all ranks were told to start
  int64_t told_us = 0;     // when an answer named it last, in Clock::steady_us
};

struct WorkerEntry {
  WorkerRow row;
  int32_t used_slots = 0;                       // by what it holds
  std::map<std::string, HeldAssignment*> held;  // not gone; each takes slots, processors and memory
  std::string leaving_reason;                   // as it says; "": none
  std::optional<std::string> caller;            // who spoke first for it since the server started: a token's id, "": none
  HeldSlots held_slots;                         // as used_slots, over time

  bool live() const { return row.state == "live"; }
  bool present() const { return row.state == "live" || row.state == "leaving"; }
  // What all that it holds takes of it.
  RankShape Used() const;
};

// How a rank ended, as its worker says or its absence tells.
struct RankEnd {
  std::string outcome;  // finished, failed, lost, handed_back, stopped
  std::string reason;
  int64_t start_us = 0;  // 0: it never ran
  int64_t end_us = 0;
  std::string cause = {};  // of a failure: "", out_of_memory, time_limit, not_started, ranks_gone
};

// Workers, and the attempts that they hold: rows and their index in memory. An attempt ends when all its
// ranks are gone, so that no two attempts of a trial ever write one checkpoint. Owner: the coordinator
// thread.
class Cluster {
 public:
  Cluster(Context& context, Jobs& jobs) : context_(context), jobs_(jobs), marks_(context) {}

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

  // `scheduling` is open, cordoned or draining, which hands back what runs there. NOT_FOUND: no worker had that name.
  absl::Status SetScheduling(const std::string& name, const std::string& scheduling, const std::string& reason);
  WorkerMarks& marks() { return marks_; }
  const WorkerMarks& marks() const { return marks_; }

  // Null: unknown, or gone.
  HeldAssignment* FindAssignment(const std::string& id);
  // Starts an attempt: the fact, and a rank on each of `workers`.
  void StartAttempt(OpenJob& job, TrialNumber trial, int64_t from, int64_t to,
                    const std::vector<std::string>& workers);
  // The rank's worker has made it ready. When all ranks of the attempt are, they are told to start.
  void Prepared(HeldAssignment& assignment, int32_t rendezvous_port);
  // Whether all ranks of its attempt run.
  bool AllRun(const HeldAssignment& assignment) const;
  // The rank is gone. The other ranks of an attempt that cannot succeed any more are revoked.
  void EndRank(HeldAssignment& assignment, const RankEnd& end);

  // The job has ended: where its trials ran matters no more.
  void ForgetJob(int64_t job);

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

  // Whether its checkpoint, of at least that level, can be given to any worker.
  bool CanRestore(const OpenJob& job, TrialNumber trial, int64_t from) const;

  // Workers whose list of wanted assignments has changed since this was last cleared.
  std::set<std::string> attention;
  // Their ids were given up in this batch: held calls are to be refused.
  std::set<std::string> dismissed;

  const std::map<std::string, WorkerEntry>& workers() const { return workers_; }

 private:
  using AttemptKey = std::pair<int64_t, TrialNumber>;  // a trial has at most one live attempt

  void Revoke(HeldAssignment& assignment, const std::string& reason = "");
  void Drain(WorkerEntry& worker, const std::string& reason);
  void RevokeTrial(OpenJob& job, TrialNumber trial);
  void Settle();
  void EndAttempt(AttemptKey key);
  v1::Assignment Describe(const OpenJob& job, const std::vector<AssignmentRow>& ranks, size_t rank) const;
  absl::Status SetHomeBefore(AttemptKey key, int64_t attempt);
  void SetStorage(const TrialState& trial, const std::vector<AssignmentRow>& ranks, v1::Assignment& message) const;
  void Hold(AssignmentRow row, v1::Assignment message, bool told);
  // To be called when its state, its slots or what it holds has changed.
  void NoteRoom(const WorkerEntry& worker);

  Context& context_;
  Jobs& jobs_;
  std::map<std::string, WorkerEntry> workers_;
  std::map<std::string, std::unique_ptr<HeldAssignment>> held_;  // by id; not gone
  std::map<AttemptKey, std::vector<AssignmentRow>> attempts_;    // by rank; gone ones included
  std::set<std::string> roomy_;              // live workers that have a free slot
  std::map<std::string, std::string> names_;  // the newest worker of each name; it may be gone
  std::map<AttemptKey, std::string> homes_;                      // worker of rank 0 of the newest attempt
  WorkerMarks marks_;
  bool settling_ = false;
};

}  // namespace winnow
