#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/validate.h"

namespace winnow {

// INVALID_ARGUMENT with the violations as payload: at most the first 50, and how many more there are. The
// message names the first few. Long texts are shortened.
absl::Status ViolationsError(const std::vector<Violation>& violations);

// The serialized winnow.v1.BadRequest that ViolationsError put into `status`; "": there is none.
std::string BadRequestOf(const absl::Status& status);

}  // namespace winnow
