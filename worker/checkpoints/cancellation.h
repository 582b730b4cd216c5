#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

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
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool cancelled_ = false;               // guarded by mutex_
  grpc::ClientContext* call_ = nullptr;  // guarded by mutex_
};

}  // namespace winnow
