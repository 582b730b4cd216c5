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
    MutexLock lock(mutex_);
    closing_ = true;
  }
  start_.NotifyAll();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Run(int tasks, const std::function<void(int, int)>& work, double nanoseconds) {
  if (workers_.empty() || tasks <= 1 || nanoseconds < kWorthWaking) {
    for (int i = 0; i < tasks; ++i) work(i, 0);
    return;
  }
  {
    MutexLock lock(mutex_);
    work_ = &work;
    next_ = 0;
    tasks_ = tasks;
    ++batch_;
  }
  start_.NotifyAll();
  Drain(0);
  MutexLock lock(mutex_);
  while (next_ < tasks_ || busy_ > 0) done_.Wait(mutex_);
}

void ThreadPool::Drain(int thread) {
  MutexLock lock(mutex_);
  while (next_ < tasks_) {
    const int task = next_++;
    ++busy_;
    const auto* work = work_;
    lock.Unlock();
    (*work)(task, thread);
    lock.Lock();
    --busy_;
  }
  if (busy_ == 0) done_.NotifyOne();
}

void ThreadPool::Loop(int thread) {
  uint64_t seen = 0;
  while (true) {
    {
      MutexLock lock(mutex_);
      while (!closing_ && batch_ == seen) start_.Wait(mutex_);
      if (closing_) return;
      seen = batch_;
    }
    Drain(thread);
  }
}

}  // namespace winnow
