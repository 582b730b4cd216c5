#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "store/database.h"

namespace winnow {

// "WINN": marks a file as ours (PRAGMA application_id).
inline constexpr int64_t kApplicationId = 0x57494e4e;

// Step n (from 1) migrates a file from version n - 1 to version n (PRAGMA user_version). A released step is
// never changed.
struct Migration {
  const char* what;
  const char* sql;
};
const std::vector<Migration>& Migrations();

// Migrates the file to the newest version, each step in its own transaction; a new file starts at 0.
// FAILED_PRECONDITION: the file belongs to another program, or to a newer Winnow.
absl::Status Migrate(Database& database);

// OK if the file is at the newest version; otherwise fails as Migrate.
absl::Status CheckVersion(Database& database);

}  // namespace winnow
