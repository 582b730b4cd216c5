#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "worker/agent_state.h"
#include "worker/event_loop.h"
#include "worker/sync_client.h"
#include "worker/trainer_run.h"

namespace winnow {

struct AgentOptions {
  WorkerIdentity identity;
  std::string worker_id_prefix = "";  // of every id under which it registers; the rest is random
  TrainerPlace place;
  SyncLimits limits;
  // Without an answer for this long, all trainers are stopped politely and Run fails. 0: never.
  std::chrono::milliseconds offline_timeout{0};
  // How long the server is tried to be told the last outcomes when leaving.
  std::chrono::milliseconds farewell_timeout{5'000};
};

// A worker at work: keeps the processes that run here equal to what the server wants (AgentState), and tells
// it what they do.
class Agent {
 public:
  // `loop` and `client` outlive the agent; the loop runs nothing after Run but another agent's work.
  Agent(EventLoop* loop, SyncClient* client, AgentOptions options);
  ~Agent();

  // Runs the loop on the calling thread until the worker has left. OK if the server was told everything that
  // it may care for; UNAVAILABLE if it could not be; the server's own status if it refuses this worker.
  absl::Status Run();

  // Any thread, any number of times: stop all trainers politely, hand back what they did not finish, and
  // return from Run.
  void Leave();
  // Any thread: as Leave, without grace.
  void LeaveNow();

 private:
  struct Running {
    int slot = 0;
    std::unique_ptr<TrainerRun> run;
  };

  void Wake();
  void Pump();
  void OnDone(uint64_t number, const std::string& worker_id, const absl::Status& status,
              const v1::SyncResponse& response);
  void Start(const v1::Assignment& assignment);
  void Ended(const std::string& id, v1::Outcome outcome);
  std::string NewWorkerId() const;
  int FreeSlot() const;
  void BeginLeaving(bool now);
  void RegisterAgain();
  void CheckLeft();
  void WatchOffline();
  void Finish(absl::Status status);

  EventLoop* const loop_;
  SyncClient* const client_;
  const AgentOptions options_;
  AgentState state_;
  std::map<std::string, Running> running_;
  bool woken_ = false;
  bool leaving_ = false;
  bool registering_again_ = false;  // waits until every process is gone
  bool connected_ = false;          // the newest call that ended was answered
  bool ever_connected_ = false;
  bool finished_ = false;
  absl::Status leave_status_;  // what Run returns if the farewell succeeds
  absl::Status result_;
  EventLoop::TimePoint last_answer_;
  EventLoop::Id pump_timer_ = 0;
  EventLoop::Id offline_timer_ = 0;
  EventLoop::Id farewell_timer_ = 0;
};

}  // namespace winnow
