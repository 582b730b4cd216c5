#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"

namespace winnow {

// Checks a request of the operation, such as "CreateTrainingJob", against its members: which are required,
// their types, lengths, patterns and values. Unknown members are left to newer clients.
// SerializationException: a type is wrong. ValidationException lists every other error.
absl::Status CheckRequestShape(const std::string& operation, const nlohmann::json& request);

// Whether the operation is offered.
bool HasRequestShape(const std::string& operation);

}  // namespace winnow
