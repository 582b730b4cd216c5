#include "trainers/mlp/parallel/background_calls.h"

#include <utility>

namespace winnow::mlp {

BackgroundCalls::BackgroundCalls() : thread_([this] { Loop(); }) {}

BackgroundCalls::~BackgroundCalls() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  posted_.notify_one();
  thread_.join();
}

void BackgroundCalls::Post(std::function<absl::Status()> call) {
  {
    std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
  }
  posted_.notify_one();
}

absl::Status BackgroundCalls::Wait() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return calls_.empty() && !busy_; });
  return std::exchange(status_, absl::OkStatus());
}

void BackgroundCalls::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    posted_.wait(lock, [this] { return closing_ || !calls_.empty(); });
    if (closing_) return;
    const std::function<absl::Status()> call = std::move(calls_.front());
    calls_.pop_front();
    if (status_.ok()) {
      busy_ = true;
      lock.unlock();
      absl::Status status = call();
      lock.lock();
      busy_ = false;
      status_ = std::move(status);
    }
    if (calls_.empty()) done_.notify_all();
  }
}

}  // namespace winnow::mlp
