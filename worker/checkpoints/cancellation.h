#pragma once

#include <chrono>
#include <set>

#include "base/mutex.h"

namespace grpc {
class ClientContext;
}

namespace winnow {

// Stops waiting threads, or their pending calls, from another thread. Thread-safe.
class Cancellation {
 public:
  // If `above` is cancelled, this one is too; but that ends no pending call of this one.
  explicit Cancellation(const Cancellation* above = nullptr) : above_(above) {}
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
    grpc::ClientContext* const context_;
  };

 private:
  const Cancellation* const above_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<grpc::ClientContext*> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow
