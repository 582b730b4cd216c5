#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace winnow {

// Calls `act` on its own thread, unless it is destroyed before `patience` is over.
class LastResort {
 public:
  LastResort(std::chrono::milliseconds patience, std::function<void()> act)
      : thread_([this, patience, act = std::move(act)] { Run(patience, act); }) {}
  ~LastResort() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void Run(std::chrono::milliseconds patience, const std::function<void()>& act) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, patience, [this] { return over_; })) return;
    }
    act();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;   // guarded by mutex_
  std::thread thread_;  // uses all of the above
};

}  // namespace winnow
