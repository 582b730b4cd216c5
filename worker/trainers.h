#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// One assignment being carried out. Its destructor leaves no process behind.
class RankRun {
 public:
  struct Events {
    std::function<void(v1::Report)> report;
    std::function<void(v1::GetLogsRequest::Stream, int64_t offset, std::string_view data, bool truncated)>
        log;
    std::function<void(v1::Outcome)> ended;  // the last call; may delete the RankRun
    // Something looks wrong: what was seen and what to do. Each kind at most once.
    std::function<void(v1::JobNotice::Kind, std::string text)> notice = {};
  };
  enum class Why { kUnwanted, kLeaving };

  virtual ~RankRun() = default;
  // SIGTERM, and SIGKILL after the assignment's grace period. The first reason counts.
  virtual void Stop(Why why) = 0;
  // SIGKILL at once.
  virtual void Kill(Why why) = 0;
};

// How an agent runs assignments: ProcessTrainers as processes of this machine, a simulation without any. All
// callbacks come on the agent's thread (see Timers), never from within the call that was given them.
class Trainers {
 public:
  struct Prepared {
    int rendezvous_port = 0;  // of rank 0: free on this host a moment ago
  };
  virtual ~Trainers() = default;

  // Makes ready what the assignment's process needs: its folders, and the checkpoint that it begins with. An error is
  // not the trainer's fault: UNAVAILABLE if what is missing is the server's to give, or the network's, or a port; else
  // this machine is to blame.
  virtual void Prepare(const v1::Assignment& assignment,
                       std::function<void(absl::StatusOr<Prepared>)> done) = 0;
  // It is not wanted any more: nothing of that Prepare happens after this, but that its callback may still come.
  virtual void AbandonPrepare(const std::string& /*assignment_id*/) {}
  // REQUIRES it was prepared. `assignment` as it is now: its master_port, if it names one, counts. An error is why it
  // failed before its process ran: RESOURCE_EXHAUSTED if that is the machine's fault, else the trainer's.
  virtual absl::StatusOr<std::unique_ptr<RankRun>> Start(const v1::Assignment& assignment,
                                                         RankRun::Events events) = 0;
  // Puts the trial's model folder, as it is now, into the artifact store; tried again when the server asks again. Calls
  // `failed` with the reason if another try would come to the same.
  virtual void StoreModel(const v1::ModelWanted& wanted, std::function<void(std::string reason)> failed) = 0;
};

}  // namespace winnow
