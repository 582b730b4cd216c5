#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace winnow {

// The same code and message; the violations become a BadRequest in the error details. What is too long for gRPC's metadata
// is shortened.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace winnow
