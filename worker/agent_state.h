#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// What a worker says about itself at every Sync.
struct WorkerIdentity {
  std::string name;
  std::string host;
  int slots = 1;
  std::string storage_id;
  std::string version;
  int rendezvous_port = 0;
  std::map<std::string, std::string> labels = {};
  double cpus = 0;        // of the host, for trainers; 0: not known
  double memory_gib = 0;  // likewise
  std::string limits = "";  // how trainers are held to their limits
};

// Bounds and delays of the talk with the server.
struct SyncLimits {
  int max_reports = 10'000;        // of one Sync
  size_t max_log_bytes = 2 << 20;  // of one Sync
  size_t max_chunk_bytes = 64 << 10;
  std::chrono::milliseconds hold{20'000};  // how long the server may keep a Sync that has nothing to say
  std::chrono::milliseconds say_timeout{10'000};
  int max_usage = 60;                         // samples that are kept; the oldest go first
  std::chrono::milliseconds log_delay{100};   // log lines alone wait this long for company
  std::chrono::milliseconds first_retry{50};  // doubled at each failure in a row
  std::chrono::milliseconds last_retry{2'000};
};

// The worker's side of the Sync protocol, without threads, clocks, processes or a network: what it holds,
// what is still to be acknowledged, what to send next, and what an answer means.
//
// A Sync that says something is answered at once; of those at most one is under way. When there is nothing to
// say, one Sync is left with the server (a poll). Calls are numbered; an answer counts in full only if none
// to a later call came before it. Reports, log chunks and outcomes are kept until a call that contained them
// was answered.
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
    std::vector<v1::Assignment> start;    // that were held as prepared, and are as running now
    std::vector<std::string> stop;        // ids, already held as stopping
  };
  enum class Setback {
    kIgnore,         // the call no longer mattered
    kRetry,          // Next will send everything again, after a while
    kRegisterAgain,  // the server has given this worker up: end all processes, then call Register; Next
                     // will wait the longer the more often this happens in a short time
    kRefused,        // the server will never take this worker's requests
  };

  AgentState(WorkerIdentity identity, std::string worker_id, SyncLimits limits = {});

  // What to send now; nothing while a say is under way, while it has to wait, or when a poll is with the
  // server already.
  std::optional<Call> Next(TimePoint now);
  // When Next may give something though nothing else happens.
  std::optional<TimePoint> NextTime() const;

  // A call was answered OK.
  Orders Answered(uint64_t number, const v1::SyncResponse& response, TimePoint now);
  // A call ended in any other way.
  Setback Failed(uint64_t number, const absl::Status& status, TimePoint now);

  // What happens to what it holds. Unknown ids are ignored. Text is made valid UTF-8.
  void AddReport(v1::Report report);
  void AddLog(const std::string& assignment, v1::GetLogsRequest::Stream stream, int64_t offset,
              std::string_view data, bool truncated, TimePoint now);
  // Something that looks wrong in what it holds; each kind once an assignment.
  void AddNotice(v1::AssignmentNotice notice);
  // A model that the server wants cannot be sent.
  void AddModelProblem(v1::ModelProblem problem);
  // How busy the host is; goes with the next Sync, whichever that is.
  void AddUsage(v1::UsageSample sample);
  // It waits for the word to start. `rendezvous_port` of a rank 0 is free here.
  void Prepared(const std::string& assignment, int rendezvous_port);
  void Ended(const std::string& assignment, v1::Outcome outcome);

  // The worker takes no more assignments, and Sync says so, and why. All that runs is held as stopping.
  void Leave(const std::string& reason = "");
  // Forgets everything and begins as a new worker. Answers to earlier calls will be ignored.
  void Register(std::string worker_id);

  bool Runs(const std::string& assignment) const;  // held, and not ended
  // REQUIRES Leave. Whether the server knows all there is to know, and that nothing is left here.
  bool Settled() const;
  const std::string& worker_id() const { return worker_id_; }
  // Calls that a later answer has made pointless; each is named once.
  std::vector<uint64_t> TakeObsolete();

 private:
  struct Held {
    v1::RunningAssignment::State state = v1::RunningAssignment::RUNNING;
    int rendezvous_port = 0;
    v1::Outcome outcome;
    int unsent = 0;  // reports, log chunks and notices in the queues
  };
  struct InFlight {
    bool says = false;
    int reports = 0;  // at the front of the queue
    int chunks = 0;
    int notices = 0;
    int problems = 0;
    uint64_t usage = 0;  // the samples up to this one
    uint64_t version = 0;
    std::set<std::string> named;
    std::set<std::string> ended;
  };

  bool HasWord(TimePoint now) const;
  bool HasUrgentWord() const;  // all but log lines alone
  bool HasEndedHeld() const;
  const InFlight* Say() const;
  Call MakeCall(bool says);
  void Acknowledge(const InFlight& call);
  void Forget(uint64_t number);
  std::chrono::milliseconds Pause(int in_a_row) const;

  const WorkerIdentity identity_;
  const SyncLimits limits_;
  std::string worker_id_;
  bool leaving_ = false;
  std::string leaving_reason_;

  std::map<std::string, Held> held_;
  std::deque<v1::Report> reports_;
  std::deque<v1::LogChunk> chunks_;
  std::deque<v1::AssignmentNotice> notices_;
  std::deque<v1::ModelProblem> problems_;
  std::deque<v1::UsageSample> usage_;
  uint64_t last_usage_ = 0;              // number of the newest of them, counted from 1
  int sent_chunks_ = 0;                  // of the first, how many were part of some call
  std::optional<TimePoint> oldest_log_;  // when the oldest unsent chunk came, unless it was already sent once

  // What the worker holds is a version; it is said again until a call that had it was answered.
  uint64_t version_ = 1;
  uint64_t answered_version_ = 0;

  uint64_t last_number_ = 0;
  uint64_t newest_answered_ = 0;
  std::map<uint64_t, InFlight> in_flight_;
  std::vector<uint64_t> obsolete_;
  std::chrono::milliseconds hold_;
  int failures_ = 0;  // in a row
  int given_up_ = 0;  // times, with no long while between them
  TimePoint last_given_up_;
  int idle_answers_ = 0;  // polls in a row that came back early and changed nothing
  TimePoint not_before_;  // for every call
  TimePoint poll_not_before_;
  std::map<uint64_t, TimePoint> poll_times_;
};

// `text` with every byte that is not part of valid UTF-8 replaced by '?', as protobuf strings demand.
std::string ValidUtf8(std::string_view text);

}  // namespace winnow
