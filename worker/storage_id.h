#pragma once

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace winnow {

// The random name that a shared folder keeps in a file of its own: 32 hexadecimal digits. Whoever comes first
// makes it, and workers that come at once agree on one.
absl::StatusOr<std::string> ReadOrMakeStorageId(const std::filesystem::path& shared);

// The same for a work folder, whose lock the caller holds: what the worker's ids begin with tells the server
// that it is the same worker, started again.
absl::StatusOr<std::string> ReadOrMakeWorkFolderId(const std::filesystem::path& work);

// 32 hexadecimal digits from the system's random source.
std::string RandomId();

}  // namespace winnow
