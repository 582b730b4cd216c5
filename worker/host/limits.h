#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/host/cgroup.h"
#include "worker/host/memory_watch.h"
#include "worker/host/process.h"

namespace winnow {

// What one trainer may use; 0: as much as there is.
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

  // What its process begins with.
  ChildSetup Child() const;
  // The process has begun. `out_of_memory` is called once if it uses more than its limit and nothing but its
  // worker ends it; then KILL it.
  void Watch(pid_t leader, std::function<void()> out_of_memory);
  // Why memory is what ended the trainer, a sentence; empty if it is not. `killed`: by a SIGKILL that its
  // worker did not send; `last_words`: the end of its standard error.
  std::string OutOfMemory(bool failed, bool killed, const std::string& last_words) const;

 private:
  friend class Limiter;
  Confinement(Limiter* limiter, TrainerLimits limits, std::string mark, std::shared_ptr<Cgroup> group,
              std::vector<int> processors);

  Limiter* const limiter_;
  const TrainerLimits limits_;
  const std::string mark_;
  const std::shared_ptr<Cgroup> group_;  // null: there are no groups here
  const std::vector<int> processors_;    // that it is bound to; empty: to none
  const int64_t host_kills_before_;
  MemoryWatch::Id watch_ = 0;
  int64_t bytes_seen_ = 0;  // when the watch found too much
};

// How a worker holds its trainers to their limits: by groups of cgroup v2 where it may make them and they
// have the controllers memory and cpu, else by resource limits, processor affinity and watching. Groups are
// used wherever they can be made, for then nothing that a trainer starts gets away. Lives on the loop's
// thread, longer than what it holds.
class Limiter {
 public:
  // Finds out by trying. Ends first what trainers of an earlier worker in folder `work` have left in their
  // groups. `name` is this worker's: letters and digits.
  Limiter(EventLoop* loop, const std::filesystem::path& work, const std::string& name);
  // Without groups.
  explicit Limiter(EventLoop* loop);
  ~Limiter();

  // "cgroup v2" or "rlimits", as SyncRequest.limits.
  std::string Name() const { return memory_ && cpu_ ? "cgroup v2" : "rlimits"; }
  bool HasGroups() const { return tree_.has_value(); }
  // How many processes of an earlier worker's trainers were killed.
  int leftovers() const { return leftovers_; }

  // `assignment` names the group, `mark` what the trainer's environment holds. RESOURCE_EXHAUSTED: the
  // machine cannot.
  absl::StatusOr<std::unique_ptr<Confinement>> Confine(const std::string& assignment, const std::string& mark,
                                                       TrainerLimits limits);

 private:
  friend class Confinement;
  std::vector<int> TakeProcessors(double cpus);

  MemoryWatch watch_;
  std::optional<Cgroup> tree_;  // its groups are the trainers'
  bool memory_ = false;         // the tree has this controller
  bool cpu_ = false;            // likewise
  int leftovers_ = 0;
  std::filesystem::path record_;  // the file that names the tree
  std::map<int, int> bound_;      // processors this worker may run on: how many trainers are bound to each
};

}  // namespace winnow
