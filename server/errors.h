#pragma once

#include <grpcpp/support/status.h>

#include <vector>

#include "absl/status/status.h"
#include "scheduler/validate.h"

namespace winnow {

// INVALID_ARGUMENT that carries the violations; of very many the first 50, and how many more there are. The message names
// the first few. Long texts are shortened.
absl::Status ViolationsError(const std::vector<Violation>& violations);

// The same code and message; the violations become a BadRequest in the error details. What is too long for gRPC's metadata
// is shortened.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace winnow
