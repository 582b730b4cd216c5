#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/generic/async_generic_service.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "server/grpc/auth.h"
#include "server/grpc/tls.h"

namespace winnow {

// The methods of a service that a standby forwards, by their place in it: all but those that are answered
// from the store alone.
std::vector<int> ForwardedMethods(std::string_view service);

// How a standby reaches the server that leads. Thread-safe.
class LeaderLink {
 public:
  // `tls`: of this server; the leader's certificate was signed by `ca_file` ("": an authority of the system).
  LeaderLink(TlsFiles tls, std::string ca_file) : tls_(std::move(tls)), ca_file_(std::move(ca_file)) {}

  // The leader's address; "": no server leads. INVALID_ARGUMENT: it cannot be used, and none is.
  absl::Status Set(const std::string& address);
  // Whether there is a connection; otherwise it goes on connecting, for a moment.
  bool Connected();

  struct Leader {
    std::string address = {};
    std::shared_ptr<grpc::Channel> channel = nullptr;  // null: no server leads
  };
  Leader Current();

 private:
  const TlsFiles tls_;
  const std::string ca_file_;
  Mutex mutex_;
  Leader leader_ ABSL_GUARDED_BY(mutex_);
};

// Passes the calls that no service of a standby answers on to the leader, with the caller's token: the leader
// decides what the caller may do. UNAVAILABLE: no server leads. REQUIRES: both outlive the gRPC server.
class Forwarding final : public grpc::CallbackGenericService {
 public:
  Forwarding(LeaderLink& link, Authority& authority) : link_(link), authority_(authority) {}

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override;

 private:
  LeaderLink& link_;
  Authority& authority_;
};

}  // namespace winnow
