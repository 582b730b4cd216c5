#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/host/cgroup.h"
#include "worker/host/event_loop.h"
#include "worker/host/process.h"
#include "worker/host/process_tree.h"

namespace winnow {

// Returns the bytes of memory that the processes hold. If the sum of RSS exceeds `enough`, shared pages count
// once (the sum of PSS).
int64_t MemoryOf(const std::vector<pid_t>& processes, int64_t enough);

// Returns how many processes the kernel has killed for lack of memory since the host started: of the host, or
// of a control group with a limit.
int64_t HostOomKills();

// Checks every 100 ms whether trainers exceed their memory limits. Lives on the loop's thread.
class MemoryWatch {
 public:
  using Id = uint64_t;  // 0 is none

  explicit MemoryWatch(EventLoop* loop) : loop_(loop) {}
  ~MemoryWatch() { loop_->Cancel(timer_); }
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  // `leader` began its own session; all its descendants have `mark` in their environment. With a `group`,
  // only its content counts. Calls `exceeded(bytes)` once, which may call Remove.
  Id Add(pid_t leader, std::string mark, const Cgroup* group, int64_t limit,
         std::function<void(int64_t)> exceeded);
  void Remove(Id id);

 private:
  struct Watched {
    ProcessTree tree;
    const Cgroup* group;
    int64_t limit;
    std::function<void(int64_t)> exceeded;
    EventLoop::TimePoint not_before;
  };

  void Look();

  EventLoop* const loop_;
  std::map<Id, Watched> watched_;
  Id last_id_ = 0;
  EventLoop::Id timer_ = 0;
};

// Limits of one trainer; 0: unlimited.
struct TrainerLimits {
  double cpus = 0;
  double memory_gib = 0;
};

class Limiter;

// One trainer under its limits. Lives on the loop's thread.
class Confinement {
 public:
  ~Confinement();
  Confinement(const Confinement&) = delete;
  Confinement& operator=(const Confinement&) = delete;

  // The setup of its process.
  ChildSetup Child() const;
  // The process has started. Calls `out_of_memory` once if it exceeds its limit and only the worker can end
  // it; then KILL it.
  void Watch(pid_t leader, std::function<void()> out_of_memory);
  // Returns a sentence if lack of memory ended the trainer, otherwise "". `killed`: by a SIGKILL that the
  // worker did not send; `last_words`: the end of its standard error.
  std::string OutOfMemory(bool failed, bool killed, const std::string& last_words) const;

 private:
  friend class Limiter;
  Confinement(Limiter* limiter, TrainerLimits limits, std::string mark, std::shared_ptr<Cgroup> group,
              std::vector<int> processors);

  Limiter* const limiter_;
  const TrainerLimits limits_;
  const std::string mark_;
  const std::shared_ptr<Cgroup> group_;  // null: no groups on this host
  const std::vector<int> processors_;    // its affinity mask; empty: not bound
  const int64_t host_kills_before_;
  MemoryWatch::Id watch_ = 0;
  int64_t bytes_seen_ = 0;  // bytes used when the watch saw too many
};

// Enforces the limits of trainers: by groups of cgroup v2 where it may make them with the controllers memory
// and cpu, otherwise by resource limits, processor affinity and sampling. It uses groups wherever possible,
// because then no process of a trainer escapes. Lives on the loop's thread, longer than its Confinements.
class Limiter {
 public:
  // Tests by trying. First kills processes that trainers of an earlier worker in folder `work` left in their
  // groups. `name` is this worker's: letters and digits.
  Limiter(EventLoop* loop, const std::filesystem::path& work, const std::string& name);
  // Without groups.
  explicit Limiter(EventLoop* loop);
  ~Limiter();

  // "cgroup v2" or "rlimits", as SyncRequest.limits.
  std::string Name() const { return memory_ && cpu_ ? "cgroup v2" : "rlimits"; }
  bool HasGroups() const { return tree_.has_value(); }
  // The number of killed processes of an earlier worker's trainers.
  int leftovers() const { return leftovers_; }

  // `assignment` names the group; `mark` is in the trainer's environment. RESOURCE_EXHAUSTED: the machine
  // cannot confine it.
  absl::StatusOr<std::unique_ptr<Confinement>> Confine(const std::string& assignment, const std::string& mark,
                                                       TrainerLimits limits);

 private:
  friend class Confinement;
  std::vector<int> TakeProcessors(double cpus);
  // HostOomKills, not older than a moment: the kernel takes as long to count them as to start a process.
  int64_t RecentOomKills();

  EventLoop* const loop_;
  MemoryWatch watch_;
  std::optional<Cgroup> tree_;  // parent of the trainers' groups
  // Every trainer's group that is still there. One that is not used any more could not be removed at once,
  // because processes in it were ending.
  std::map<std::filesystem::path, std::weak_ptr<Cgroup>> groups_;
  bool memory_ = false;  // whether the tree has this controller
  bool cpu_ = false;     // likewise
  int leftovers_ = 0;
  std::filesystem::path record_;            // the file that names the tree
  EventLoop::TimePoint oom_kills_until_{};  // when they are to be counted again
  int64_t oom_kills_ = 0;
  std::map<int, int> bound_;  // number of trainers bound to each processor that this worker may use
};

}  // namespace winnow
