#include "trainers/common/thread_pool.h"

namespace winnow {
namespace {

constexpr double kWorthWaking = 50e3;  // ns: a few times what a sleeping thread needs to start

}  // namespace

ThreadPool::ThreadPool(int threads) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { Loop(i); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  start_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Run(int tasks, const std::function<void(int, int)>& work, double nanoseconds) {
  if (workers_.empty() || tasks <= 1 || nanoseconds < kWorthWaking) {
    for (int i = 0; i < tasks; ++i) work(i, 0);
    return;
  }
  {
    std::lock_guard lock(mutex_);
    work_ = &work;
    next_ = 0;
    tasks_ = tasks;
    ++batch_;
  }
  start_.notify_all();
  Drain(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return next_ >= tasks_ && busy_ == 0; });
}

void ThreadPool::Drain(int thread) {
  std::unique_lock lock(mutex_);
  while (next_ < tasks_) {
    const int task = next_++;
    ++busy_;
    const auto* work = work_;
    lock.unlock();
    (*work)(task, thread);
    lock.lock();
    --busy_;
  }
  if (busy_ == 0) done_.notify_one();
}

void ThreadPool::Loop(int thread) {
  uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return closing_ || batch_ != seen; });
      if (closing_) return;
      seen = batch_;
    }
    Drain(thread);
  }
}

}  // namespace winnow
