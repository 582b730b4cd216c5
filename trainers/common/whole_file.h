#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow {

// Errors name the file.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);
// Either the whole text is at `path` and on disk, or what was there before.
absl::Status WriteFileWhole(const std::string& path, const std::string& text);

}  // namespace winnow
