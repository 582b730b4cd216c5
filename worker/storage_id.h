#pragma once

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace winnow {

// Returns the random name kept in a file of a shared folder: 32 hexadecimal digits. The first worker makes
// it; concurrent workers agree on one.
absl::StatusOr<std::string> ReadOrMakeStorageId(const std::filesystem::path& shared);

// ReadOrMakeStorageId for a work folder whose lock the caller holds. The worker's ids begin with it, so that
// the server recognises the worker after a restart.
absl::StatusOr<std::string> ReadOrMakeWorkFolderId(const std::filesystem::path& work);

// Returns 32 hexadecimal digits from the system's random source.
std::string RandomId();

}  // namespace winnow
