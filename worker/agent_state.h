#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// The worker's description of itself in every Sync.
struct WorkerIdentity {
  std::string name;
  std::string host;
  int slots = 1;
  std::string storage_id;
  std::string version;
  int rendezvous_port = 0;
  std::map<std::string, std::string> labels = {};
  double cpus = 0;                 // of the host, available to trainers; 0: unknown
  double memory_gib = 0;           // likewise
  std::string limits = "";         // how resource limits of trainers are enforced
  std::vector<v1::Gpu> gpus = {};  // devices for trainers
  int ahead = 0;                   // assignments that it takes beyond its slots
  double cost_per_hour = 0;        // of the whole worker
  std::optional<std::chrono::steady_clock::time_point> end = {};  // when it leaves by itself
  std::string loopback_of = "";                                   // as of SyncRequest
};

// Sizes and delays of the Sync protocol.
struct SyncLimits {
  int max_reports = 10'000;           // in one Sync
  size_t max_report_bytes = 4 << 20;  // in one Sync; the server takes messages of 16 MiB
  size_t max_log_bytes = 2 << 20;     // in one Sync
  size_t max_chunk_bytes = 64 << 10;
  std::chrono::milliseconds hold{20'000};  // how long the server may hold an idle Sync
  std::chrono::milliseconds say_timeout{10'000};
  int max_usage = 60;                         // samples kept; the oldest are dropped first
  std::chrono::milliseconds report_pause{0};  // between Syncs that say nothing but reports
  // After an answer to news, how long a worker without a free slot waits for more news before it polls.
  std::chrono::milliseconds poll_pause{0};
  std::chrono::milliseconds log_delay{100};   // how long log lines wait for more before they cause a Sync
  std::chrono::milliseconds first_retry{50};  // doubles with each failure in a row
  std::chrono::milliseconds last_retry{2'000};
};

// The worker's side of the Sync protocol, without threads, clocks, processes or a network: the assignments it
// holds, the data not yet acknowledged, the next message, and the effect of an answer.
//
// The server answers a Sync with news at once; at most one such call is in flight. Without news, one Sync
// waits at the server (a poll). Calls are numbered; an answer counts in full only if no answer to a later
// call came before it. Reports, log chunks and outcomes are kept until a call that contained them is
// answered.
class AgentState {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Call {
    uint64_t number = 0;
    v1::SyncRequest request;
    std::chrono::milliseconds timeout{0};
  };
  // What the worker must do now.
  struct Orders {
    std::vector<v1::Assignment> prepare;  // new ones, already held as running
    std::vector<v1::Assignment> start;    // formerly held as prepared, now as running
    std::vector<std::string> stop;        // ids, already held as stopping
  };
  enum class Setback {
    kIgnore,         // the call was already obsolete
    kRetry,          // Next sends everything again after a pause
    kRegisterAgain,  // the server has given up this worker: end all processes, then call Register; the pause
                     // before Next grows with each such loss in a short time
    kRefused,        // the server will never accept this worker's requests
  };

  AgentState(WorkerIdentity identity, std::string worker_id, SyncLimits limits = {});

  // The call to send now. Absent while a call with news is in flight, during a pause, or when a poll is
  // already at the server.
  std::optional<Call> Next(TimePoint now);
  // The time at which Next may return a call even if nothing else happens.
  std::optional<TimePoint> NextTime() const;

  // A call was answered with OK.
  Orders Answered(uint64_t number, const v1::SyncResponse& response, TimePoint now);
  // A call ended in any other way.
  Setback Failed(uint64_t number, const absl::Status& status, TimePoint now);

  // Events of a held assignment. Unknown ids are ignored. Text is made valid UTF-8.
  void AddReport(v1::Report report);
  void AddLog(const std::string& assignment, v1::GetLogsRequest::Stream stream, int64_t offset,
              std::string_view data, bool truncated, TimePoint now);
  // A suspicious observation in a held assignment; each kind once per assignment.
  void AddNotice(v1::AssignmentNotice notice);
  // A model that the server wants cannot be sent.
  void AddModelProblem(v1::ModelProblem problem);
  // The marks of the jobs of which the worker has folders: the server is asked which of them were deleted.
  void NameJobs(std::vector<std::string> marks);
  bool NamesJobs() const { return !jobs_.empty(); }  // whether some are still to be told
  // A usage sample of the host; the next Sync carries it, whichever that is.
  void AddUsage(v1::UsageSample sample);
  // The devices, or the faults of some, have changed.
  void SetGpus(std::vector<v1::Gpu> gpus);
  // How much of the devices is used; the next Sync carries it, whichever that is.
  void SetGpuUse(const std::vector<v1::Gpu>& measured);
  // The assignment waits for the order to start. For rank 0, `rendezvous_port` is free on this host.
  void Prepared(const std::string& assignment, int rendezvous_port);
  // The assignment, a single rank with an origin, has its own copy of that trial's checkpoint.
  void TookCheckpoint(const std::string& assignment);
  // What is done for an assignment before it can start (RunningAssignment.preparing); empty: no more.
  void SetPreparing(const std::string& assignment, std::string what);
  void Ended(const std::string& assignment, v1::Outcome outcome);

  // The trainers that wait now; the next Sync carries them, whichever that is.
  void SetWaiting(std::vector<v1::WaitingTrainer> waiting) { waiting_ = std::move(waiting); }

  // The worker takes no more assignments; Sync reports this and `reason`. All that run are held as stopping.
  void Leave(const std::string& reason = "");
  // Forgets everything and starts as a new worker. Answers to earlier calls are ignored from now on.
  void Register(std::string worker_id);

  bool Runs(const std::string& assignment) const;  // held, and not ended
  // REQUIRES: Leave was called. Whether the server has everything, and nothing is left here.
  bool Settled() const;
  const std::string& worker_id() const { return worker_id_; }
  // Calls that a later answer has made obsolete; returns each once.
  std::vector<uint64_t> TakeObsolete();

 private:
  struct Held {
    v1::RunningAssignment::State state = v1::RunningAssignment::RUNNING;
    int rendezvous_port = 0;
    std::string preparing;
    bool took_checkpoint = false;
    v1::Outcome outcome;
    int unsent = 0;  // reports, log chunks and notices in the queues
  };
  struct InFlight {
    bool says = false;
    int reports = 0;  // at the front of the queue
    int chunks = 0;
    int notices = 0;
    int problems = 0;
    int jobs = 0;
    uint64_t usage = 0;  // samples up to this number
    uint64_t version = 0;
    std::set<std::string> named;
    std::set<std::string> ended;
  };

  bool HasWord(TimePoint now) const;
  bool HasUrgentWord() const;  // whether anything but reports and log lines waits
  bool HasEndedHeld() const;
  bool IsFull() const;  // whether it holds as much as its slots can run, or more
  const InFlight* Say() const;
  Call MakeCall(bool says, TimePoint now);
  void Acknowledge(const InFlight& call);
  void Forget(uint64_t number);
  std::chrono::milliseconds Pause(int in_a_row) const;

  WorkerIdentity identity_;
  const SyncLimits limits_;
  std::string worker_id_;
  bool leaving_ = false;
  std::string leaving_reason_;

  std::map<std::string, Held> held_;
  std::deque<v1::Report> reports_;
  std::deque<v1::LogChunk> chunks_;
  std::deque<v1::AssignmentNotice> notices_;
  std::deque<v1::ModelProblem> problems_;
  std::deque<std::string> jobs_;  // marks
  std::deque<v1::UsageSample> usage_;
  std::vector<v1::WaitingTrainer> waiting_;
  uint64_t last_usage_ = 0;              // number of the newest sample, from 1
  int sent_chunks_ = 0;                  // how many of the first chunks were in some call
  std::optional<TimePoint> oldest_log_;  // arrival of the oldest chunk that was never sent

  // Version of the held assignments; resent until a call that contained it is answered.
  uint64_t version_ = 1;
  uint64_t answered_version_ = 0;

  uint64_t last_number_ = 0;
  uint64_t newest_answered_ = 0;
  std::map<uint64_t, InFlight> in_flight_;
  std::vector<uint64_t> obsolete_;
  std::chrono::milliseconds hold_;
  int failures_ = 0;  // in a row
  int given_up_ = 0;  // in a row, without a long interval between them
  TimePoint last_given_up_;
  int idle_answers_ = 0;  // polls in a row that returned early and changed nothing
  TimePoint last_said_;   // when the last call with news was made
  TimePoint not_before_;  // applies to every call
  TimePoint poll_not_before_;
  std::map<uint64_t, TimePoint> poll_times_;
};

}  // namespace winnow
