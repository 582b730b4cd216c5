#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "store/database/database.h"

namespace winnow {

// Copies the database `from`, as of one moment, to the new file `to`; others may continue to write meanwhile.
// Replaces an older file of that name. RESOURCE_EXHAUSTED: the disk has no room for it and for the server to
// continue; CANCELLED once `cancelled` returns true. After an error there is no `to`. The copy is not synced
// to disk. `mode`: how `from` is opened, to read.
absl::Status CopyDatabase(const std::string& from, const std::string& to,
                          const std::function<bool()>& cancelled, OpenMode mode = OpenMode::kReadOnly);

}  // namespace winnow
