#include "base/parallel.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace winnow {
namespace {

// What is still to be called.
class CallsToMake {
 public:
  CallsToMake(size_t count, const std::function<absl::Status(size_t)>& each,
              const std::function<void()>& at_error)
      : count_(count), each_(each), at_error_(at_error) {}

  void Run() {
    MutexLock lock(mutex_);
    while (next_ < count_ && status_.ok()) {
      const size_t mine = next_++;
      lock.Unlock();
      absl::Status status = each_(mine);
      lock.Lock();
      if (status.ok() || !status_.ok()) continue;
      status_ = std::move(status);
      if (at_error_ != nullptr) at_error_();
    }
  }

  absl::Status status() {
    const MutexLock lock(mutex_);
    return status_;
  }

 private:
  const size_t count_;
  const std::function<absl::Status(size_t)>& each_;
  const std::function<void()>& at_error_;
  Mutex mutex_;
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status ForEachInParallel(size_t count, int threads, const std::function<absl::Status(size_t)>& each,
                               const std::function<void()>& at_error) {
  CallsToMake calls(count, each, at_error);
  std::vector<std::thread> others;
  try {
    for (size_t i = 1; i < std::min(count, static_cast<size_t>(threads)); ++i)
      others.emplace_back([&calls] { calls.Run(); });
  } catch (const std::system_error&) {
    // The system has no more threads for this process: those that there are do all.
  }
  calls.Run();
  for (std::thread& other : others) other.join();
  return calls.status();
}

}  // namespace winnow
