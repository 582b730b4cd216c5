#include "worker/checkpoints/cancellation.h"

#include <grpcpp/client_context.h>

namespace winnow {

void Cancellation::Cancel() {
  std::lock_guard lock(mutex_);
  cancelled_ = true;
  if (call_ != nullptr) call_->TryCancel();
  changed_.notify_all();
}

bool Cancellation::cancelled() const {
  std::lock_guard lock(mutex_);
  return cancelled_;
}

bool Cancellation::Sleep(std::chrono::steady_clock::duration time) const {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, time, [this] { return cancelled_; });
}

Cancellation::Call::Call(Cancellation& cancellation, grpc::ClientContext& context)
    : cancellation_(cancellation) {
  std::lock_guard lock(cancellation_.mutex_);
  cancellation_.call_ = &context;
  if (cancellation_.cancelled_) context.TryCancel();
}

Cancellation::Call::~Call() {
  std::lock_guard lock(cancellation_.mutex_);
  cancellation_.call_ = nullptr;
}

}  // namespace winnow
