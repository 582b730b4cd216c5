#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace winnow {

// Returns the bytes of a file. INVALID_ARGUMENT, in the system's words alone: it cannot be read, or it is a
// directory. Streams throw when they read one.
absl::StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace winnow
