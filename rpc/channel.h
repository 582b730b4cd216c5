#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "rpc/endpoint.h"

namespace winnow {

// A channel that connects at first use, and again after every disconnection, within 2 s of the server's
// return. The token is sent with every call. INVALID_ARGUMENT names a file that cannot be read or has the
// wrong content.
//
// Of several addresses it connects to the first that answers: the server that leads, or a standby, which
// passes calls on to it. One that stops answering is left after 3 s. Their names are resolved now, not later;
// UNAVAILABLE: none can be. With TLS, the certificate of each server must have the name of the first address.
absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const Endpoint& endpoint);

// Explains a call's failure where gRPC's words would not help: for UNAVAILABLE, why there is no connection
// (nothing listens, the certificate is not trusted, only one side speaks TLS). Otherwise, and for an endpoint
// without an address, returns the message itself.
std::string ExplainFailure(const Endpoint& endpoint, const grpc::Status& status);

}  // namespace winnow
