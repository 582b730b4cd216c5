#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "worker/agent_state.h"
#include "worker/host/event_loop.h"
#include "worker/host/timers.h"
#include "worker/host/usage.h"
#include "worker/sync_client.h"
#include "worker/trainers.h"

namespace winnow {

struct AgentOptions {
  WorkerIdentity identity;
  std::string worker_id_prefix = "";  // of every id under which it registers; the rest is random
  SyncLimits limits;
  // Without an answer for this long, all trainers are stopped politely and Run fails. 0: never.
  std::chrono::milliseconds offline_timeout{0};
  // How long the server is tried to be told the last outcomes when leaving.
  std::chrono::milliseconds farewell_timeout{5'000};
  std::function<std::string()> random_id;  // 32 hexadecimal digits; default: the system's random source
  std::function<void(bool)> connected;  // told whenever the server begins or ceases to answer; may be null
  // Asked as often as Sync is sent, but no more often than every 4.5 s; outlives the agent. Null: nothing is told of
  // how busy the host is.
  UsageMeter* usage = nullptr;
};

// A worker at work: keeps what runs here equal to what the server wants (AgentState), and tells it what they do.
class Agent {
 public:
  // `timers`, `client` and `trainers` outlive the agent, and call nothing that was given to them after it is gone.
  Agent(Timers* timers, SyncClient* client, Trainers* trainers, AgentOptions options);
  ~Agent();

  // Begins to work. `left` is called once, on the agent's thread, when the worker has left: OK if the server was told
  // everything that it may care for; UNAVAILABLE if it could not be; the server's own status if it refuses this worker.
  void Begin(std::function<void(absl::Status)> left);
  // Begins, and runs the loop on the calling thread until the worker has left. REQUIRES `loop` is its timers.
  absl::Status Run(EventLoop* loop);

  // Any thread, any number of times: stop all trainers politely, hand back what they did not finish, and leave.
  // `reason` is told to the server.
  void Leave(std::string reason = "");
  // Any thread: as Leave, without grace.
  void LeaveNow();

 private:
  // An assignment that is held here and has not ended.
  struct Running {
    v1::Assignment assignment;
    bool prepared = false;
    std::unique_ptr<RankRun> run;  // null: its process is not started
  };

  void Wake();
  // Whether it was so before.
  bool SetConnected(bool connected);
  void Pump();
  void OnDone(uint64_t number, const std::string& worker_id, const absl::Status& status,
              const v1::SyncResponse& response);
  // Before the first answer: says so at once, and then ever more rarely.
  void TellWaiting(const absl::Status& status);
  void Prepare(const v1::Assignment& assignment);
  void OnPrepared(const std::string& id, const absl::StatusOr<Trainers::Prepared>& prepared);
  void Start(const std::string& id);
  void Stop(const std::string& id);
  void EndUnstarted(const std::string& id, v1::Outcome::Kind kind);
  void Ended(const std::string& id, v1::Outcome outcome);
  void Notice(const std::string& id, v1::JobNotice::Kind kind, std::string text);
  void StoreModel(const v1::ModelWanted& wanted);
  std::string NewWorkerId() const;
  void BeginLeaving(bool now, const std::string& reason);
  void RegisterAgain();
  void CheckLeft();
  void WatchOffline();
  void Finish(absl::Status status);

  Timers* const timers_;
  SyncClient* const client_;
  Trainers* const trainers_;
  const AgentOptions options_;
  std::function<void(absl::Status)> left_;
  AgentState state_;
  std::map<std::string, Running> running_;
  bool woken_ = false;
  bool leaving_ = false;
  bool registering_again_ = false;  // waits until every process is gone
  bool connected_ = false;          // the newest call that ended was answered
  bool ever_connected_ = false;
  Timers::TimePoint next_waiting_;  // when it is told again that the server is waited for
  std::chrono::seconds waiting_pause_{0};
  bool finished_ = false;
  absl::Status leave_status_;  // what Run returns if the farewell succeeds
  Timers::TimePoint last_answer_;
  Timers::TimePoint next_sample_;  // of usage: not before
  Timers::Id pump_timer_ = 0;
  Timers::Id offline_timer_ = 0;
  Timers::Id farewell_timer_ = 0;
  // Posted functions find out by it that the agent is gone.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace winnow
