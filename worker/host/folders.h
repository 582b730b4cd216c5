#pragma once

#include <filesystem>

#include "absl/status/status.h"

namespace winnow {

// Creates the folder and its missing parents. FAILED_PRECONDITION with the folder and the system's message.
absl::Status MakeFolder(const std::filesystem::path& path);

}  // namespace winnow
