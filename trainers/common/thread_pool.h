#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace winnow {

// Runs batches of independent tasks. Idle threads sleep; with one thread everything runs in the caller.
class ThreadPool {
 public:
  // REQUIRES: threads >= 1, including the caller of Run.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls work(task, thread) once for each task in [0, tasks), thread in [0, threads()), and returns when all
  // are done. Tasks are assigned to threads in no fixed way. nanoseconds: the approximate time of all tasks
  // on one thread; below the time to wake others, the caller runs them. REQUIRES: one Run at a time; work
  // does not throw.
  void Run(int tasks, const std::function<void(int task, int thread)>& work, double nanoseconds = 1e9);

 private:
  void Loop(int thread);
  void Drain(int thread);

  std::vector<std::thread> workers_;
  Mutex mutex_;
  CondVar start_, done_;
  const std::function<void(int, int)>* work_ ABSL_GUARDED_BY(mutex_) = nullptr;
  int next_ ABSL_GUARDED_BY(mutex_) = 0;
  int tasks_ ABSL_GUARDED_BY(mutex_) = 0;
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t batch_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace winnow
