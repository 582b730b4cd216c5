#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace winnow {

inline constexpr size_t kMostReadBytes = 64 << 20;

// Returns the bytes of a file. INVALID_ARGUMENT, in the system's words alone: it cannot be read, it is a
// directory, or it has more than kMostReadBytes. Streams throw when they read a directory.
absl::StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace winnow
