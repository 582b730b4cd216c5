#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace winnow {

// Copies the database `from`, as it is at one moment, to the new file `to`; others may go on writing
// meanwhile. An older file of that name is replaced. RESOURCE_EXHAUSTED: the disk has no room for it and for
// the server to go on; CANCELLED once `cancelled` says so. After an error there is no `to`. The copy is not
// synced to the disk.
absl::Status CopyDatabase(const std::string& from, const std::string& to,
                          const std::function<bool()>& cancelled);

}  // namespace winnow
