#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <memory>

#include "base/mutex.h"

namespace winnow {

// Cancels a streaming call after a time limit, so that a stalled peer does not hold resources for ever.
class CallLimit {
 public:
  CallLimit(grpc::CallbackServerContext* context, std::chrono::seconds longest)
      : call_(std::make_shared<Call>()) {
    call_->context = context;
    alarm_.Set(std::chrono::system_clock::now() + longest, [call = call_](bool) {
      MutexLock lock(call->mutex);
      if (call->context != nullptr) call->context->TryCancel();
    });
  }
  // The call is done: its context is not used any more.
  ~CallLimit() {
    {
      MutexLock lock(call_->mutex);
      call_->context = nullptr;
    }
    alarm_.Cancel();
  }

 private:
  struct Call {
    Mutex mutex;
    grpc::CallbackServerContext* context ABSL_GUARDED_BY(mutex) = nullptr;  // null once the call is done
  };
  std::shared_ptr<Call> call_;
  grpc::Alarm alarm_;
};

}  // namespace winnow
