#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "worker/host/cgroup.h"
#include "worker/host/event_loop.h"
#include "worker/host/process_tree.h"

namespace winnow {

// Returns the bytes of memory that the processes hold. If the sum of RSS exceeds `enough`, shared pages count
// once (the sum of PSS).
int64_t MemoryOf(const std::vector<pid_t>& processes, int64_t enough);

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

}  // namespace winnow
