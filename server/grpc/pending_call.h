#pragma once

#include <fmt/format.h>
#include <grpcpp/alarm.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "server/engine/hub.h"
#include "server/grpc/errors.h"

namespace winnow {

// A call whose work runs elsewhere, perhaps for long. It is answered once: with the result or, if that is
// earlier, when its client disconnects, its time is over or the server stops. The work may outlive the
// answer, so it polls GoOn and keeps its own copy of what it needs of the request. Thread-safe.
template <typename Response>
class PendingCall final : public grpc::ServerUnaryReactor,
                          public std::enable_shared_from_this<PendingCall<Response>> {
 public:
  // `response` is gRPC's; `hub` outlives the gRPC server.
  static std::shared_ptr<PendingCall> Start(Hub& hub, Response* response, std::chrono::milliseconds longest) {
    std::shared_ptr<PendingCall> call(new PendingCall(hub, response));
    call->self_ = call;
    const std::weak_ptr<PendingCall> weak = call;
    call->stop_subscription_ = hub.Subscribe(kStopTopic, [weak] {
      if (const auto self = weak.lock()) self->Answer(absl::UnavailableError("the server is stopping"));
    });
    call->alarm_.Set(std::chrono::system_clock::now() + longest, [weak, longest](bool expired) {
      const auto self = weak.lock();
      if (!expired || !self) return;
      self->Answer(absl::DeadlineExceededError(fmt::format(
          "it was not answered within {} s; the server gives up on it", longest.count() / 1000.0)));
    });
    return call;
  }

  // The first answer counts.
  void Answer(absl::StatusOr<Response> answer) {
    {
      MutexLock lock(mutex_);
      if (answered_) return;
      answered_ = true;
      if (answer.ok()) *response_ = *std::move(answer);
    }
    Finish(ToGrpc(answer.status()));
  }

  // OK, or CANCELLED: the call was answered, so the work is no longer needed.
  absl::Status GoOn() const {
    return answered_ ? absl::CancelledError("nobody waits for the answer any more") : absl::OkStatus();
  }

  void OnCancel() override { Answer(absl::CancelledError("cancelled by the client")); }
  void OnDone() override {
    hub_.Unsubscribe(stop_subscription_);
    alarm_.Cancel();
    const std::shared_ptr<PendingCall> last = std::move(self_);
  }

 private:
  PendingCall(Hub& hub, Response* response) : hub_(hub), response_(response) {}

  Hub& hub_;
  std::shared_ptr<PendingCall> self_;  // until gRPC is done with this call
  int64_t stop_subscription_ = 0;
  grpc::Alarm alarm_;
  Mutex mutex_;
  Response* const response_ ABSL_GUARDED_BY(mutex_);  // invalid once the call is answered
  std::atomic<bool> answered_ = false;                // set under mutex_
};

}  // namespace winnow
