#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/database/database.h"

namespace winnow {

// Called for each error found, with a sentence.
using TellFinding = std::function<void(const std::string&)>;

// Opens a database without changing anything; a file also on a read-only file system. Not OK: it is not
// there, or a file's log is damaged.
absl::StatusOr<std::unique_ptr<Database>> OpenToCheck(const std::string& name);

// The database's own checks. SQLite: pages and indexes are intact (integrity_check), and every referenced row
// exists (foreign_key_check). PostgreSQL: no reference was imported without a check. Not OK: the check could
// not be completed.
absl::Status CheckFile(Database& database, const TellFinding& tell);

// Checks assignments against jobs, trials, workers and each other. REQUIRES: the newest version of the
// tables.
absl::Status CheckAssignments(Database& database, const TellFinding& tell);

// Checks for reports of missing trials, and for contradictions in rows of logs, artifacts and usage.
// REQUIRES: the newest version of the tables.
absl::Status CheckLooseRows(Database& database, const TellFinding& tell);

}  // namespace winnow
