#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "rpc/endpoint.h"

namespace winnow {

// A channel that connects when it is first used and again, within 2 s of the server's return, whenever it was
// cut. The token goes with every call. INVALID_ARGUMENT names a file that
// cannot be read or is not what it should be.
absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const Endpoint& endpoint);

// What a call's failure means, where gRPC's words would not help: for UNAVAILABLE why there is no connection
// (nothing listens, the certificate is not trusted, one side speaks TLS and the other does not). Otherwise,
// and for an endpoint without an address, the message itself.
std::string ExplainFailure(const Endpoint& endpoint, const grpc::Status& status);

}  // namespace winnow
