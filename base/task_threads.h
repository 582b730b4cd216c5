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

// Threads that run functions in the order in which they were posted: one after the other with one thread;
// with several, the first free thread takes the next. Thread-safe. An owner whose tasks use its members
// declares it last.
class TaskThreads {
 public:
  using Task = std::function<void()>;

  explicit TaskThreads(int threads = 1);
  // Begins to stop, runs the queue, and waits for its end.
  ~TaskThreads();
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  void Post(Task task) { PostWithin(std::numeric_limits<size_t>::max(), std::move(task)); }
  // Returns false, and posts nothing, if `most` are already queued.
  bool PostWithin(size_t most, Task task);

  // Clears the queue: destroys posted tasks that have not begun, on the caller's thread.
  void Clear();
  // Sets stopping(). The queue is still run; a long task polls stopping().
  void BeginStop();
  // Clears the queue, and waits for running tasks; tasks posted later never run. Not from a task, nor from
  // two threads at once.
  void Stop();

  bool stopping();
  // Waits for `duration`, or until stopping(); returns stopping().
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
