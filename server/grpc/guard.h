#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/server_callback.h>

#include <string>
#include <string_view>
#include <vector>

#include "server/grpc/auth.h"

namespace winnow {

// A call that is answered with an error only. Deleted when gRPC is done with it.
template <typename Reactor>
class RefusedCall final : public Reactor {
 public:
  explicit RefusedCall(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

// The jobs that a request names, by MethodRule::jobs. REQUIRES that this is a path of its fields.
std::vector<std::string> JobsNamedBy(const google::protobuf::Message& request, std::string_view path);

// OK if `by` sees the jobs that the request names, by MethodRule::jobs, and the project in its field
// `project`, if it has one; else NOT_FOUND, in the words for a job or a project that is not there.
absl::Status CheckSees(const Requester& by, const google::protobuf::Message& request, std::string_view path);

// What a call says about its caller. `relay_key`: of the Authority.
CallOrigin OriginOf(const grpc::CallbackServerContext& context, const std::string& relay_key);

// The first check of every handler of a service. Thread-safe.
class Guard {
 public:
  // `service`: its full name, as service_full_name() of the generated class. `authority` outlives the guard.
  Guard(Authority& authority, std::string_view service) : authority_(authority), service_(service) {}

  // Null: the call may continue. Otherwise the call has been refused, and the handler returns the result: the
  // caller may not call the method, or may not see a job or the project that the request names. `method` is
  // the handler's __func__; `by`, if given, receives the caller. Null `request`: it names neither, which the
  // method's rule must say.
  template <typename Reactor>
  Reactor* Refuse(const grpc::CallbackServerContext* context, const google::protobuf::Message* request,
                  std::string_view method, Requester* by = nullptr) {
    const grpc::Status status = Admit(*context, request, method, by);
    return status.ok() ? nullptr : new RefusedCall<Reactor>(status);
  }

  Authority& authority() { return authority_; }

 private:
  grpc::Status Admit(const grpc::CallbackServerContext& context, const google::protobuf::Message* request,
                     std::string_view method, Requester* by);

  Authority& authority_;
  const std::string service_;
};

}  // namespace winnow
