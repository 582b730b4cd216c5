#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "store/database.h"

namespace winnow {

// "WINN": marks a file as ours (PRAGMA application_id).
inline constexpr int64_t kApplicationId = 0x57494e4e;

// Step n (from 1) brings a file from version n - 1 to version n (PRAGMA user_version). A step that was
// released is never changed.
struct Migration {
  const char* what;
  const char* sql;
};
const std::vector<Migration>& Migrations();

// Brings the file to the newest version, each step in its own transaction; a new file starts at 0.
// FAILED_PRECONDITION: the file belongs to another program, or to a newer Winnow.
absl::Status Migrate(Database& database);

// As Migrate, but for a file that must be at the newest version already.
absl::Status CheckVersion(Database& database);

}  // namespace winnow
