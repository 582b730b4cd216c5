#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "worker/agent_state.h"
#include "worker/host/event_loop.h"
#include "worker/host/timers.h"
#include "worker/host/usage.h"
#include "worker/runs/trainers.h"
#include "worker/sync_client.h"

namespace winnow {

struct AgentOptions {
  WorkerIdentity identity;
  std::string server;  // its address, for messages
  // prefix of every id under which the worker registers; the rest is random
  std::string worker_id_prefix = "";
  SyncLimits limits;
  // After this long without an answer, stops all trainers politely, and Run fails. 0: never.
  std::chrono::milliseconds offline_timeout{0};
  // The same until the server has answered for the first time. 0: offline_timeout holds from the start.
  std::chrono::milliseconds join_timeout{0};
  // How long a leaving worker tries to deliver the last outcomes.
  std::chrono::milliseconds farewell_timeout{5'000};
  std::function<std::string()> random_id;  // 32 hexadecimal digits; default: the system's random source
  std::function<void(bool)> connected;  // called whenever the server begins or ceases to answer; may be null
  // Sampled with each Sync, at most every 4.5 s; outlives the agent. Null: no usage is reported.
  UsageMeter* usage = nullptr;
};

// The worker: keeps what runs on this host equal to what the server wants (AgentState), and reports on it.
class Agent {
 public:
  // `timers`, `client` and `trainers` outlive the agent and call none of its callbacks after its end.
  Agent(Timers* timers, SyncClient* client, Trainers* trainers, AgentOptions options);
  ~Agent();

  // Starts. Calls `left` once, on the agent's thread, when the worker has left: OK if the server received all
  // that matters; UNAVAILABLE if it could not be reached; the server's own status if it refuses this worker.
  void Begin(std::function<void(absl::Status)> left);
  // Begins, and runs the loop on the calling thread until the worker has left. REQUIRES: `loop` is `timers`.
  absl::Status Run(EventLoop* loop);

  // The agent's thread: the devices, or the faults of some, have changed.
  void SetGpus(std::vector<v1::Gpu> gpus);
  // The agent's thread: how much of the devices is used.
  void SetGpuUse(const std::vector<v1::Gpu>& measured) { state_.SetGpuUse(measured); }

  // Any thread, any number of times: stops all trainers politely, hands back unfinished assignments, and
  // leaves. The server receives `reason`.
  void Leave(std::string reason = "");
  // Any thread: as Leave, without a grace period.
  void LeaveNow();

 private:
  // An assignment held here that has not ended.
  struct Running {
    v1::Assignment assignment;
    bool prepared = false;
    std::unique_ptr<RankRun> run;  // null: its process has not been started
    bool saves = false;            // RankRun::Events::saves: it has left its slot
  };

  void Wake();
  // Returns the previous state.
  bool SetConnected(bool connected);
  void Pump();
  void OnDone(uint64_t number, const std::string& worker_id, const absl::Status& status,
              const v1::SyncResponse& response);
  // Logs, before the first answer, that the server does not answer: at once, then less and less often.
  void TellWaiting(const absl::Status& status);
  void Prepare(const v1::Assignment& assignment);
  void OnPrepared(const std::string& id, const absl::StatusOr<Trainers::Prepared>& prepared);
  int FreeSlots() const;
  // Starts those that are prepared and have waited for a slot, as far as there are slots.
  void StartReady();
  void Start(const std::string& id);
  void Stop(const std::string& id);
  void EndUnstarted(const std::string& id, v1::Outcome::Kind kind);
  void Ended(const std::string& id, v1::Outcome outcome);
  void Notice(const std::string& id, v1::JobNotice::Kind kind, std::string text);
  void StoreModel(const v1::ModelWanted& wanted);
  void FollowDeletions(const v1::SyncResponse& response);
  std::string NewWorkerId() const;
  void BeginLeaving(bool now, const std::string& reason);
  void RegisterAgain();
  void CheckLeft();
  std::chrono::milliseconds OfflineLimit() const;
  void WatchOffline();
  void Finish(absl::Status status);

  Timers* const timers_;
  SyncClient* const client_;
  Trainers* const trainers_;
  const AgentOptions options_;
  std::function<void(absl::Status)> left_;
  AgentState state_;
  std::map<std::string, Running> running_;
  std::deque<std::string> ready_;  // assignments that are prepared and wait for a slot; some may be gone
  bool woken_ = false;
  bool leaving_ = false;
  bool registering_again_ = false;  // a new registration waits until every process has ended
  bool connected_ = false;          // the newest call that ended was answered
  bool ever_connected_ = false;
  std::string last_failure_;        // of a call; "" before the first
  Timers::TimePoint next_waiting_;  // when to log again that the server does not answer
  std::chrono::seconds waiting_pause_{0};
  bool finished_ = false;
  absl::Status leave_status_;  // the result of Run if the farewell succeeds
  Timers::TimePoint last_answer_;
  int64_t deletions_ = -1;         // SyncResponse.deletions, when it last named its jobs; -1: not yet
  Timers::TimePoint next_naming_;  // no sooner are they named again
  Timers::TimePoint next_sample_;  // no usage sample before this time
  Timers::Id pump_timer_ = 0;
  Timers::Id offline_timer_ = 0;
  Timers::Id farewell_timer_ = 0;
  // Weak flag: callbacks already posted check it and do nothing after destruction.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace winnow
