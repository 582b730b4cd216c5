#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "winnow/v1/usage.pb.h"
#include "worker/host/cgroup.h"
#include "worker/host/process_tree.h"

namespace winnow {

// Measures the usage of a host for its agent.
class UsageMeter {
 public:
  virtual ~UsageMeter() = default;
  // Covers the time since the last call. On the agent's thread.
  virtual v1::UsageSample Sample() = 0;
};

// Usage of this host and its trainers: from /proc, and from the trainers' control groups where they have
// some. Unreadable values are 0. Lives on the loop's thread, longer than the trainers.
class HostUsage : public UsageMeter {
 public:
  // `proc` holds the host's files stat and meminfo; a test passes its own.
  explicit HostUsage(std::filesystem::path proc = "/proc");

  // A trainer has started. With a `group`, which outlives its Remove, its content counts; otherwise the
  // processes that ProcessTree finds.
  void Add(const std::string& assignment, pid_t leader, const std::string& mark, const Cgroup* group);
  // Does nothing if it was not added.
  void Remove(const std::string& assignment);

  v1::UsageSample Sample() override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Processors {
    int64_t busy = 0;  // ticks of all processors
    int64_t all = 0;
  };
  struct Trainer {
    ProcessTree tree;
    const Cgroup* group;  // null: none
    Clock::time_point since;
    double cpu_seconds = 0;  // used up to the last sample
  };

  Processors ReadProcessors() const;
  void ReadMemory(v1::UsageSample& sample) const;

  const std::filesystem::path proc_;
  Processors last_;
  std::map<std::string, Trainer> trainers_;  // by assignment
};

}  // namespace winnow
