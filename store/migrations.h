#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "store/database.h"

namespace winnow {

// "WINN": marks a file as ours (PRAGMA application_id).
inline constexpr int64_t kApplicationId = 0x57494e4e;

// Migrates a file from the version of the migration before it to `version` (PRAGMA user_version); the first
// one starts with an empty file. A released migration is never changed.
struct Migration {
  int64_t version;
  const char* sql;
};
// In order. The first makes the tables of 0.1.0, the first release.
const std::vector<Migration>& Migrations();
inline int64_t NewestVersion() { return Migrations().back().version; }

// Migrates the file to the newest version, each step in its own transaction.
// FAILED_PRECONDITION: the file belongs to another program, to a newer Winnow, or to one before the first
// release.
absl::Status Migrate(Database& database);

// OK if the file is at the newest version; otherwise fails as Migrate.
absl::Status CheckVersion(Database& database);

}  // namespace winnow
