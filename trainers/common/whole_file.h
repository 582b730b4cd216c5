#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow {

// Errors name the file.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);
// Writes atomically: afterwards `path` has either the whole text, on disk, or its old content.
absl::Status WriteFileWhole(const std::string& path, const std::string& text);

}  // namespace winnow
