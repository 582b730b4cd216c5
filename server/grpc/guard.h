#pragma once

#include <grpcpp/support/server_callback.h>

#include <string>
#include <string_view>

#include "server/grpc/auth.h"

namespace winnow {

// A call that is answered with an error only. Deleted when gRPC is done with it.
template <typename Reactor>
class RefusedCall final : public Reactor {
 public:
  explicit RefusedCall(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

// The first check of every handler of a service. Thread-safe.
class Guard {
 public:
  // `service`: its full name, as service_full_name() of the generated class. `authority` outlives the guard.
  Guard(Authority& authority, std::string_view service) : authority_(authority), service_(service) {}

  // Null: the call may continue. Otherwise the call has been refused, and the handler returns the result.
  // `method` is the handler's __func__; `by`, if given, receives the caller.
  template <typename Reactor>
  Reactor* Refuse(const grpc::CallbackServerContext* context, std::string_view method,
                  Requester* by = nullptr) {
    const grpc::Status status = Admit(*context, method, by);
    return status.ok() ? nullptr : new RefusedCall<Reactor>(status);
  }

  Authority& authority() { return authority_; }

 private:
  grpc::Status Admit(const grpc::CallbackServerContext& context, std::string_view method, Requester* by);

  Authority& authority_;
  const std::string service_;
};

}  // namespace winnow
