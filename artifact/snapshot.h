#pragma once

#include <string>

#include "absl/status/status.h"
#include "artifact/folder.h"

namespace winnow {

// Keeps the folder's files as they are now under `copy`, which is made anew: as further names of the same
// files, for those that are written whole and then renamed never change, or as copies where the file system
// has no links. Names that say that they are not whole yet (*.part, *.tmp) are passed over. Files
// that ListFolder passes over are not in it. Errors as ListFolder's.
absl::Status SnapshotFolder(const FolderName& folder, const FolderName& copy);

// Whether a checkpoint's file or folder of that name is not whole yet.
bool IsUnfinishedName(const std::string& name);

}  // namespace winnow
