#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/v1/worker.pb.h"
#include "worker/containers/trial_container.h"
#include "worker/host/event_loop.h"
#include "worker/host/fork_request.h"
#include "worker/host/limits.h"
#include "worker/host/process.h"
#include "worker/host/run_as.h"
#include "worker/runs/read_ahead.h"
#include "worker/runs/trainer_environment.h"
#include "worker/runs/trainer_place.h"

namespace winnow {

class TrainerParents;

// The program of a rank, with its limits, its user's home and the socket on which it says that it waits for
// its next part (docs/trainer-contract.md). It may serve several parts of a trial, one after the other; its
// listener is the part that it serves now. Lives on the loop's thread. Its destructor leaves no process
// behind.
class TrainerProcess {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void Output(Process::Stream stream, std::string_view bytes) = 0;
    // It has trained to `level`, has saved, and waits. All that it wrote before was passed to Output. May
    // take the process away from its owner, but not delete it.
    virtual void Waits(int64_t level) = 0;
    // It has trained to `level` and has reported it, and only saves now. As Waits, all output comes before.
    virtual void Saves(int64_t level) = 0;
    virtual void CanFork() = 0;     // it can serve as a parent (docs/trainer-contract.md, "Forking")
    virtual void OverMemory() = 0;  // it exceeds its limit, and only a SIGKILL ends it
    virtual void Gone(const ProcessEnd& end) = 0;  // the last call; may delete the process
  };

  enum class Turn {
    kNow,
    kAwaited,  // it does not train before Begin; so it has to be forked, from a parent that can hold children
  };

  // An error is why the program did not start, as of TrainerRun::Start; UNAVAILABLE with kAwaited: it is not
  // forked. With kAwaited the process need not be there yet: see Arrive. `may_wait`: it gets a control
  // socket. `parents`: it is forked from one of them if that is possible; null: it is not. `listener`
  // outlives it or is replaced.
  static absl::StatusOr<std::unique_ptr<TrainerProcess>> Start(
      EventLoop* loop, const TrainerPlace& place, const v1::Assignment& assignment, const TrainerSeat& seat,
      const std::map<std::string, std::string>& secrets, std::shared_ptr<const UserLease> user, bool may_wait,
      TrainerParents* parents, Listener* listener, Turn turn = Turn::kNow);
  ~TrainerProcess();
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  void Listen(Listener* listener) { listener_ = listener; }
  // Keeps what the program needs, such as the source that it runs in, for as long as the program.
  void Hold(std::shared_ptr<const void> needed) { needed_ = std::move(needed); }
  // Whether the values of the trial's secrets are those that it was started with.
  bool HasSecrets(const std::map<std::string, std::string>& secrets) const { return secrets == secrets_; }
  // Waits for the process of a program that was started with kAwaited, at most as long as a parent may take;
  // the loop calls it when the process is there. False: none has come. REQUIRED before process() and Begin.
  bool Arrive();
  // Tells the program that was started with kAwaited to train. False: it cannot be told any more.
  bool Begin(const v1::Assignment& assignment, const TrainerSeat& seat);
  // Tells the waiting program to train on to assignment.resource_to. False: it cannot be told any more.
  bool Continue(const v1::Assignment& assignment, const TrainerSeat& seat);
  // Its process is suspended at the end of a part; `read` belongs to the next part.
  void Suspended(ReadAhead read) { read_.emplace(std::move(read)); }
  // Whether it is suspended between two parts.
  bool suspended() const { return read_.has_value(); }
  // Gives back what Suspended was given: the next part has begun. REQUIRES suspended().
  ReadAhead TakeReadAhead() { return *std::exchange(read_, std::nullopt); }
  // Tells the program to end instead of waiting. A program that does not gets SIGTERM after a second, SIGKILL
  // after `grace` more.
  void End(EventLoop::Clock::duration grace);

  Process& process() { return *process_; }
  // The id of the program; absent: not known, because a container has not started it yet, or hides it.
  std::optional<pid_t> program() const;
  // Whether the engine of a container limits it, and not the worker.
  bool is_apart() const { return container_ != nullptr && container_->is_apart(); }
  const Confinement* confinement() const { return confinement_.get(); }
  const std::string& mark() const { return mark_; }     // AssignmentMark of its first part
  const Cgroup* group() const { return group_.get(); }  // null: none
  const std::shared_ptr<const UserLease>& user() const { return user_; }
  bool is_forked() const { return forked_; }

 private:
  TrainerProcess(EventLoop* loop, Listener* listener, TaskThreads* removal)
      : loop_(loop), listener_(listener), removal_(removal) {}
  void Remove(const std::filesystem::path& folder);
  absl::Status MakeHome(const TrainerPlace& place, const v1::Assignment& assignment, const TrainerUser& user);
  absl::Status WriteCredentials(const TrainerPlace& place, const v1::Assignment& assignment);
  absl::Status EnterContainer(const TrainerPlace& place, const v1::Assignment& assignment,
                              const TrialDirectories& directories, ProcessSpec* spec);
  void Started(std::unique_ptr<Process> process);
  bool Say(const std::string& line);
  // The program's end of the socket is *inherited, for the caller to close.
  absl::Status MakeControl(int* inherited);
  void ReadControl();
  void CloseControl();

  EventLoop* const loop_;
  Listener* listener_;
  TaskThreads* const removal_;  // null: it is not deferred
  std::map<std::string, std::string> secrets_;
  std::string mark_;
  std::filesystem::path home_;         // of its user, removed with it; empty: none
  std::filesystem::path credentials_;  // for TLS with other ranks, likewise
  std::shared_ptr<const UserLease> user_;
  std::shared_ptr<const void> needed_;  // null: nothing
  std::optional<ReadAhead> read_;       // while it is suspended between two parts
  std::unique_ptr<Confinement> confinement_;
  std::shared_ptr<Cgroup> group_;
  std::unique_ptr<TrialContainer> container_;  // null: none
  std::unique_ptr<ComingChild> coming_;        // until its process is there; null: it is, or will not come
  std::function<void(const absl::Status&)> answered_;  // by the parent: whether it has forked
  Process::Events process_events_;
  std::unique_ptr<Process> process_;  // null: see coming_
  int control_ = -1;                  // our end of the socket; -1: it has none, or has closed it
  EventLoop::Id control_watch_ = 0;
  std::string said_;  // the beginning of a line on it
  EventLoop::Id end_timer_ = 0;
  bool forked_ = false;
};

}  // namespace winnow
