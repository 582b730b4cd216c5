#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// One running assignment. Its destructor leaves no process behind.
class RankRun {
 public:
  struct Events {
    std::function<void(v1::Report)> report;
    std::function<void(v1::GetLogsRequest::Stream, int64_t offset, std::string_view data, bool truncated)>
        log;
    std::function<void(v1::Outcome)> ended;  // the last call; may delete the RankRun
    // A suspicious observation and advice. Each kind at most once.
    std::function<void(v1::JobNotice::Kind, std::string text)> notice = {};
    // Another part may have its slot: it has trained to its level and has reported it, and only saves now; or
    // its program has ended, and `ended` is to come. At most once.
    std::function<void()> saves = {};
  };
  enum class Why { kUnwanted, kLeaving };

  virtual ~RankRun() = default;
  // Sends SIGTERM, and SIGKILL after the assignment's grace period. The first reason counts.
  virtual void Stop(Why why) = 0;
  // Sends SIGKILL at once.
  virtual void Kill(Why why) = 0;
  // How its program started.
  virtual v1::PartStart part_start() const { return v1::NEW_PROCESS; }
};

// Runs assignments for an agent: ProcessTrainers as processes, a simulation without any. All callbacks come
// on the agent's thread (see Timers), never from within the call that received them.
class Trainers {
 public:
  struct Prepared {
    int rendezvous_port = 0;  // for rank 0: free on this host a moment ago
  };
  virtual ~Trainers() = default;

  // `tell` is called with the id of an assignment that is prepared, and what is done for it (Rank.preparing).
  virtual void TellPreparing(
      std::function<void(const std::string& assignment_id, std::string what)> /*tell*/) {}
  // Prepares the folders of the assignment's process and its initial checkpoint. An error is not the
  // trainer's fault: UNAVAILABLE if something from the server or the network, or a port, is missing; a
  // NotPreparedError (worker/runs/failure_cause.h) if what the job asked for cannot be had; any other error
  // is this machine's.
  virtual void Prepare(const v1::Assignment& assignment,
                       std::function<void(absl::StatusOr<Prepared>)> done) = 0;
  // The assignment is no longer wanted: that Prepare has no further effect, but its callback may still come.
  virtual void AbandonPrepare(const std::string& /*assignment_id*/) {}
  // The assignment was prepared and waits for a slot: what its start needs may be made ready, but nothing
  // trains before Start.
  virtual void MakeReady(const v1::Assignment& /*assignment*/) {}
  // REQUIRES: it was prepared. `assignment` as it is now, with its final master_port, if any. An error is why
  // it failed before its process ran: RESOURCE_EXHAUSTED if the machine is at fault; ABORTED if neither is,
  // because the suspended program with which it was to go on is gone: it is handed back; otherwise the
  // trainer.
  virtual absl::StatusOr<std::unique_ptr<RankRun>> Start(const v1::Assignment& assignment,
                                                         RankRun::Events events) = 0;
  // Stores the trial's current model folder in the artifact store; tries again when the server asks again.
  // Calls `failed` with the reason if another try would fail in the same way.
  virtual void StoreModel(const v1::ModelWanted& wanted, std::function<void(std::string reason)> failed) = 0;

  // Calls `done` with the marks (Assignment.job_mark) of the jobs of which this machine has folders.
  virtual void ListJobs(std::function<void(std::vector<std::string>)> /*done*/) {}
  // Removes the folders of those jobs, which were deleted.
  virtual void RemoveJobs(const std::vector<std::string>& /*marks*/) {}

  // Programs of parts that have FINISHED, which wait for the next part of their trial, and, as trial 0,
  // parents from which programs of a job are forked. Start goes on with one where it fits. They have no slot,
  // and no assignment names them.
  virtual std::vector<v1::WaitingTrainer> Waiting() const { return {}; }
  // Ends the one of that trial, if it waits at that level.
  virtual void LetGo(const v1::WaitingTrainer& /*trainer*/) {}
  // Where some must end, these end first, in this order; before them only the parents' own limits.
  virtual void Spare(const std::vector<v1::WaitingTrainer>& /*trainers*/) {}
  // Ends all, and keeps none from now on if the worker `leaves`.
  virtual void LetGoAll(bool /*leaves*/) {}
};

}  // namespace winnow
