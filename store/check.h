#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "store/database.h"

namespace winnow {

// Called for each error found, with a sentence.
using TellFinding = std::function<void(const std::string&)>;

// SQLite's own checks of the file: pages and indexes are intact (integrity_check), and every referenced row
// exists (foreign_key_check). Not OK: the check could not be completed.
absl::Status CheckFile(Database& database, const TellFinding& tell);

// Checks assignments against jobs, trials, workers and each other. REQUIRES: the newest version of the
// tables.
absl::Status CheckAssignments(Database& database, const TellFinding& tell);

// Checks for reports of missing trials, and for contradictions in rows of logs, artifacts and usage.
// REQUIRES: the newest version of the tables.
absl::Status CheckLooseRows(Database& database, const TellFinding& tell);

}  // namespace winnow
