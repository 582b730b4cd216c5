#pragma once

#include <filesystem>

#include "absl/status/status.h"

namespace winnow {

// Creates the folder and those above it where they are missing. FAILED_PRECONDITION with the folder and the
// system's words.
absl::Status MakeFolder(const std::filesystem::path& path);

}  // namespace winnow
