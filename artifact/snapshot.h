#pragma once

#include <string>

#include "absl/status/status.h"
#include "artifact/folder.h"

namespace winnow {

// Keeps the folder's current files under `copy`, which is made anew: as hard links (finished files are never
// modified, because they are written whole and then renamed), or as copies where the file system has no
// links. Skips unfinished names (*.part, *.tmp) and what ListFolder skips. Errors as ListFolder's.
absl::Status SnapshotFolder(const FolderName& folder, const FolderName& copy);

// Whether the name of a checkpoint's file or folder marks it as unfinished.
bool IsUnfinishedName(const std::string& name);

}  // namespace winnow
