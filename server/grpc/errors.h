#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace winnow {

// Returns the same code and message, with the violations as a BadRequest in the error details: those of
// ViolationsError, or of any other INVALID_ARGUMENT the field with which its message begins ("page_size: …").
// Shortens what exceeds gRPC's metadata.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace winnow
