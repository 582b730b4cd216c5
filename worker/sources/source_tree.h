#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow {

// Folders of code on a worker's disk. All functions block; links are not followed.

// Copies a folder with its links and executable bits; its owner may write the copy. If `uid` is not -1, the
// copy is given to that user.
absl::Status CopyTree(const std::filesystem::path& from, const std::filesystem::path& to, uid_t uid,
                      gid_t gid);

// Makes the folder this process's own, readable for everybody and writable for nobody. Returns its size in
// bytes.
absl::StatusOr<int64_t> SealTree(const std::filesystem::path& folder);

// Removes a folder, sealed or not. Does nothing if it is missing.
absl::Status RemoveSource(const std::filesystem::path& folder);

}  // namespace winnow
