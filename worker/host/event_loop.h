#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "worker/host/timers.h"

namespace winnow {

// The worker's only thread: runs handlers of descriptors, timers and posted functions one after the other.
// The agent's data are used on this thread only and need no lock.
class EventLoop : public Timers {
 public:
  EventLoop();
  ~EventLoop() override;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Any thread. Functions run in the order in which they were posted; those left when the loop ends never
  // run.
  void Post(std::function<void()> function) override;
  // Any thread. Run returns after the current function.
  void Quit();

  // Handles events until Quit, on the calling thread; may be called again.
  void Run();

  // The rest: on the thread of Run, or before it starts.

  // Calls `readable` for as long as the descriptor is readable or hung up. The caller keeps the descriptor
  // open until Unwatch.
  Id Watch(int fd, std::function<void()> readable);
  void Unwatch(Id id);

  TimePoint Now() override { return Clock::now(); }
  Id At(TimePoint when, std::function<void()> function) override;
  void Cancel(Id id) override;

 private:
  struct Watched {
    int fd;
    std::shared_ptr<std::function<void()>> readable;
  };

  void RunPosted();
  void RunTimers();
  int MillisecondsToNextTimer() const;

  const int epoll_;
  const int wake_;  // eventfd: readable when something was posted
  Id last_id_ = 0;
  std::map<Id, Watched> watched_;
  std::map<std::pair<TimePoint, Id>, std::function<void()>> timers_;
  std::map<Id, TimePoint> timer_times_;

  Mutex mutex_;
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  bool quit_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace winnow
