#pragma once

#include <chrono>

#include "base/mutex.h"

namespace grpc {
class ClientContext;
}

namespace winnow {

// Stops a waiting thread, or its pending call, from another thread. Thread-safe.
class Cancellation {
 public:
  void Cancel();
  bool cancelled() const;
  // False: cancelled before the time was over.
  bool Sleep(std::chrono::steady_clock::duration time) const;

  // During its lifetime, a cancellation ends the call, even one that came before.
  class Call {
   public:
    Call(Cancellation& cancellation, grpc::ClientContext& context);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Cancellation& cancellation_;
  };

 private:
  mutable Mutex mutex_;
  mutable CondVar changed_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace winnow
