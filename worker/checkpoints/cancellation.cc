#include "worker/checkpoints/cancellation.h"

#include <grpcpp/client_context.h>

#include <algorithm>

namespace winnow {
namespace {

constexpr std::chrono::milliseconds kLookPause(100);

}  // namespace

void Cancellation::Cancel() {
  MutexLock lock(mutex_);
  cancelled_ = true;
  for (grpc::ClientContext* call : calls_) call->TryCancel();
  changed_.NotifyAll();
}

bool Cancellation::cancelled() const {
  if (above_ != nullptr && above_->cancelled()) return true;
  MutexLock lock(mutex_);
  return cancelled_;
}

bool Cancellation::Sleep(std::chrono::steady_clock::duration time) const {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!cancelled()) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= end) return true;
    MutexLock lock(mutex_);
    const auto next_look = above_ == nullptr ? end : std::min(end, now + kLookPause);
    if (!cancelled_) changed_.WaitUntil(mutex_, next_look);
  }
  return false;
}

Cancellation::Call::Call(Cancellation& cancellation, grpc::ClientContext& context)
    : cancellation_(cancellation), context_(&context) {
  MutexLock lock(cancellation_.mutex_);
  cancellation_.calls_.insert(context_);
  if (cancellation_.cancelled_) context.TryCancel();
}

Cancellation::Call::~Call() {
  MutexLock lock(cancellation_.mutex_);
  cancellation_.calls_.erase(context_);
}

}  // namespace winnow
