#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/task_threads.h"
#include "winnow/v1/worker.pb.h"
#include "worker/checkpoints/artifact_client.h"
#include "worker/checkpoints/cancellation.h"
#include "worker/containers/container_host.h"
#include "worker/containers/trial_container.h"
#include "worker/host/event_loop.h"
#include "worker/host/process.h"
#include "worker/host/run_as.h"

namespace winnow {

struct SourceLimits {
  int64_t bytes = int64_t{20} << 30;      // of all sources and setups; those in use may exceed it
  std::chrono::hours unused{7 * 24};      // then a source is removed
  std::chrono::seconds setup_time{3600};  // then a setup has failed
};

// A source that trials run in. It is not removed as long as this lives.
class SourceLease {
 public:
  virtual ~SourceLease() = default;
  virtual const std::filesystem::path& folder() const = 0;
};

// The sources of jobs on this worker: WORK/sources/DIGEST, and WORK/sources/DIGEST.SETUP for one in which a
// setup has run, of a job with containers in its image; beside each NAME.done, which says that it is
// complete. Each is fetched once, its setup is run once, and trials of all jobs share it, read-only. Methods
// and callbacks run on the loop's thread.
class SourceKeeper {
 public:
  // `loop`, `channel`'s server and `containers` outlive it. Removes what an earlier worker left incomplete.
  SourceKeeper(EventLoop* loop, const std::shared_ptr<grpc::Channel>& channel, std::filesystem::path work,
               ContainerHost* containers, SourceLimits limits = {});
  // No callback runs afterwards; a setup that runs is killed.
  ~SourceKeeper();

  // Setups run as the user that `take` leases for a folder; without it, as the worker's own user.
  using TakeUser = std::function<absl::StatusOr<UserLease>(const FolderName&)>;
  void TakeUsersBy(TakeUser take) { take_user_ = std::move(take); }

  using Done = std::function<void(absl::StatusOr<std::shared_ptr<SourceLease>>)>;
  using Progress = std::function<void(const std::string& what)>;  // as Rank.preparing
  // Makes the assignment's source ready; its container, if it has one, is of an engine and an image of
  // ImageKeeper. ABORTED: its setup failed, with the last lines that it wrote;
  // UNAVAILABLE: the server is away or has it no more; any other error is this machine's. `environment` is
  // what programs inherit from the worker. `tell` is called when a setup begins; never where it has run
  // already.
  void Prepare(const v1::Assignment& assignment, const std::vector<std::string>& environment, Progress tell,
               Done done);
  // Afterwards that Prepare does not call its callback. A setup that nobody waits for is killed.
  void Abandon(const std::string& assignment_id);

 private:
  class Lease;
  struct Waiter {
    std::string assignment;
    Progress tell;
    Done done;
  };
  struct Making {  // a source that is being made ready
    v1::Assignment assignment;
    std::vector<std::string> environment;
    std::vector<Waiter> waiters;
    std::unique_ptr<TrialContainer> container;  // of the setup; null: it runs in none
    std::unique_ptr<Process> setup;
    std::shared_ptr<const UserLease> user;
    std::string tail;  // of the setup's output
    bool out_of_time = false;
    bool given_up = false;  // the setup was killed because nobody waited for it
    EventLoop::Id timer = 0;
  };

  std::filesystem::path FolderOf(const std::string& name) const { return root_ / name; }
  bool IsDone(const std::string& name) const;
  void Fetched(const std::string& name, const absl::Status& status);
  void RunSetup(const std::string& name);
  absl::Status EnterContainer(const std::string& name, ProcessSpec* spec);
  void SetupEnded(const std::string& name, const ProcessEnd& end);
  void Finish(const std::string& name, const absl::Status& status);
  std::shared_ptr<SourceLease> Take(const std::string& name);
  absl::Status Fetch(const v1::Assignment& assignment);
  absl::Status MarkDone(const std::string& name);
  void RemoveIncomplete();
  void RemoveUnused();
  void Post(std::function<void()> function);

  EventLoop* const loop_;
  ArtifactClient client_;
  const std::filesystem::path work_;
  const std::filesystem::path root_;
  ContainerHost* const containers_;
  const SourceLimits limits_;
  TakeUser take_user_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::map<std::string, Making> making_;                      // by name
  std::map<std::string, std::weak_ptr<SourceLease>> in_use_;  // likewise
  Cancellation cancellation_;
  TaskThreads thread_;  // declared last: its tasks use the members
};

}  // namespace winnow
