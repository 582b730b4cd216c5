#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "store/database/database.h"

namespace winnow {

// Migrates a database from the version of the migration before it to `version`; the first one starts with an
// empty database. In SQLite's SQL; store/database/postgres_dialect.h has PostgreSQL's. A released migration
// is never changed.
struct Migration {
  int64_t version;
  const char* sql;
};
// In order. The first makes the tables of 0.1.0, the first release.
const std::vector<Migration>& Migrations();
inline int64_t NewestVersion() { return Migrations().back().version; }

// Migrates the database to the newest version, each step in its own transaction.
// FAILED_PRECONDITION: the database belongs to another program, to a newer Winnow, or to one before the first
// release.
absl::Status Migrate(Database& database);

// OK if the database is at the newest version; otherwise fails as Migrate.
absl::Status CheckVersion(Database& database);

}  // namespace winnow
