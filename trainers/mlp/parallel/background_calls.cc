#include "trainers/mlp/parallel/background_calls.h"

#include <utility>

namespace winnow::mlp {

void BackgroundCalls::Post(std::function<absl::Status()> call) {
  {
    MutexLock lock(mutex_);
    ++left_;
  }
  thread_.Post([this, call = std::move(call)] { Run(call); });
}

absl::Status BackgroundCalls::Wait() {
  MutexLock lock(mutex_);
  while (left_ > 0) done_.Wait(mutex_);
  return std::exchange(status_, absl::OkStatus());
}

void BackgroundCalls::Run(const std::function<absl::Status()>& call) {
  MutexLock lock(mutex_);
  if (status_.ok()) {
    lock.Unlock();
    absl::Status status = call();
    lock.Lock();
    status_ = std::move(status);
  }
  if (--left_ == 0) done_.NotifyAll();
}

}  // namespace winnow::mlp
