#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/validate.h"

namespace winnow {

// INVALID_ARGUMENT that carries the violations; of very many the first 50, and how many more there are. The message names
// the first few. Long texts are shortened.
absl::Status ViolationsError(const std::vector<Violation>& violations);

// The winnow.v1.BadRequest that ViolationsError put into `status`, serialized; "" if there is none.
std::string BadRequestOf(const absl::Status& status);

}  // namespace winnow
