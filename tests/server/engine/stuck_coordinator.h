#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "server/engine/coordinator.h"

namespace winnow {

// The coordinator stands still in the middle of a batch; what is posted meanwhile is queued.
class StuckCoordinator {
 public:
  explicit StuckCoordinator(Coordinator& coordinator) : coordinator_(coordinator) {
    coordinator_.Post({[this, released = released_.get_future().share()](Engine&) {
                         reached_.set_value();
                         released.wait();
                       },
                       [](const absl::Status&) {}});
    reached_.get_future().wait();
  }
  ~StuckCoordinator() {
    if (!is_released_) Release();
  }

  // Whether `destroy`, which posts so many use cases, is over only when all that is queued is completed.
  bool IsAwaitedBy(const std::function<void()>& destroy, size_t posts) {
    const size_t before = coordinator_.queue_length();
    std::atomic<bool> over = false;
    std::thread thread([&] {
      destroy();
      over = true;
    });
    while (!over && coordinator_.queue_length() < before + posts) std::this_thread::yield();
    const bool waits = !over;
    Release();
    thread.join();
    return waits;
  }

 private:
  void Release() {
    is_released_ = true;
    released_.set_value();
  }

  Coordinator& coordinator_;
  std::promise<void> reached_, released_;
  bool is_released_ = false;
};

}  // namespace winnow
