#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace winnow {

// Returns the same code and message, with the violations as a BadRequest in the error details. Shortens what
// exceeds gRPC's metadata.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace winnow
