#pragma once

#include <grpcpp/support/status.h>

#include <vector>

#include "absl/status/status.h"
#include "scheduler/validate.h"

namespace winnow {

// INVALID_ARGUMENT that carries every violation; the message names the first few.
absl::Status ViolationsError(const std::vector<Violation>& violations);

// The same code and message; the violations become a BadRequest in the error details.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace winnow
