#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace winnow {

// Threads for blocking disk access, so that gRPC's threads do not wait. Thread-safe.
class DiskThreads {
 public:
  explicit DiskThreads(int threads);
  // Runs what is queued, then stops.
  ~DiskThreads();

  void Post(std::function<void()> work);

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;  // guarded by mutex_
  bool stopping_ = false;                    // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace winnow
