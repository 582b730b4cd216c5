#include "base/task_threads.h"

#include <utility>

namespace winnow {

TaskThreads::TaskThreads(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

TaskThreads::~TaskThreads() {
  BeginStop();
  Join();
}

bool TaskThreads::PostWithin(size_t most, Task task) {
  {
    MutexLock lock(mutex_);
    if (queue_.size() >= most) return false;
    queue_.push_back(std::move(task));
  }
  posted_.NotifyOne();
  return true;
}

void TaskThreads::Clear() {
  std::deque<Task> dropped;
  MutexLock lock(mutex_);
  dropped.swap(queue_);
}

void TaskThreads::BeginStop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  posted_.NotifyAll();
  stopped_.NotifyAll();
}

void TaskThreads::Stop() {
  {
    MutexLock lock(mutex_);
    dropping_ = true;
  }
  BeginStop();
  Join();
  Clear();
}

bool TaskThreads::stopping() {
  MutexLock lock(mutex_);
  return stopping_;
}

bool TaskThreads::WaitForStop(std::chrono::nanoseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  MutexLock lock(mutex_);
  while (!stopping_ && stopped_.WaitUntil(mutex_, end)) {
  }
  return stopping_;
}

void TaskThreads::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void TaskThreads::Run() {
  while (true) {
    Task task;
    {
      MutexLock lock(mutex_);
      while (!stopping_ && queue_.empty()) posted_.Wait(mutex_);
      if (queue_.empty() || dropping_) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    task();
  }
}

}  // namespace winnow
