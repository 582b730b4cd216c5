#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace winnow {

// Threads that run functions in the order in which they were posted: one thread, one after the other; of
// several the first that is free takes the next. Thread-safe. An owner whose tasks use its members declares
// it last.
class TaskThreads {
 public:
  using Task = std::function<void()>;

  explicit TaskThreads(int threads = 1);
  // Begins to stop, runs what is queued, and waits for it.
  ~TaskThreads();
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  void Post(Task task) { PostWithin(std::numeric_limits<size_t>::max(), std::move(task)); }
  // Posts `task` unless `most` wait already; false then.
  bool PostWithin(size_t most, Task task);

  // Drops what is queued: what was posted and did not begin is destroyed on the caller's thread.
  void Clear();
  // Sets stopping(). What is queued is still run; a task that may take long asks stopping() now and then.
  void BeginStop();
  // Clears, and waits for the tasks under way; what is posted later never runs. Not from a task; not from two
  // threads at once.
  void Stop();

  bool stopping();
  // Waits for `duration`, or until stopping(): true then.
  bool WaitForStop(std::chrono::nanoseconds duration);

 private:
  void Run();
  void Join();

  Mutex mutex_;
  CondVar posted_, stopped_;
  std::deque<Task> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool dropping_ ABSL_GUARDED_BY(mutex_) = false;  // since Stop
  std::vector<std::thread> threads_;
};

}  // namespace winnow
