#pragma once

#include <filesystem>
#include <string>

#include "absl/status/status.h"

namespace winnow {

// Keeps the folder's files as they are now under `copy`, which is made anew: as further names of the same
// files, for those that are written whole and then renamed never change, or as copies where the file system
// has no links. Names that say that they are not whole yet (*.part, *.tmp) are passed over. Errors as
// ListFolder's.
absl::Status SnapshotFolder(const std::filesystem::path& folder, const std::filesystem::path& copy);

// Whether a checkpoint's file or folder of that name is not whole yet.
bool IsUnfinishedName(const std::string& name);

}  // namespace winnow
