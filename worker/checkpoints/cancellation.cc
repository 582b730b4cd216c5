#include "worker/checkpoints/cancellation.h"

#include <grpcpp/client_context.h>

namespace winnow {

void Cancellation::Cancel() {
  MutexLock lock(mutex_);
  cancelled_ = true;
  if (call_ != nullptr) call_->TryCancel();
  changed_.NotifyAll();
}

bool Cancellation::cancelled() const {
  MutexLock lock(mutex_);
  return cancelled_;
}

bool Cancellation::Sleep(std::chrono::steady_clock::duration time) const {
  MutexLock lock(mutex_);
  const auto end = std::chrono::steady_clock::now() + time;
  while (!cancelled_ && changed_.WaitUntil(mutex_, end)) {
  }
  return !cancelled_;
}

Cancellation::Call::Call(Cancellation& cancellation, grpc::ClientContext& context)
    : cancellation_(cancellation) {
  MutexLock lock(cancellation_.mutex_);
  cancellation_.call_ = &context;
  if (cancellation_.cancelled_) context.TryCancel();
}

Cancellation::Call::~Call() {
  MutexLock lock(cancellation_.mutex_);
  cancellation_.call_ = nullptr;
}

}  // namespace winnow
