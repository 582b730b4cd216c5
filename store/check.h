#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "store/database.h"

namespace winnow {

// Is told of each thing that is wrong, as a sentence.
using TellFinding = std::function<void(const std::string&)>;

// What SQLite can say of the file: that its pages and indexes are whole (integrity_check), and that every row
// that another one refers to is there (foreign_key_check). Not OK: it could not be looked at to the end.
absl::Status CheckFile(Database& database, const TellFinding& tell);

// Assignments against jobs, trials, workers and each other. REQUIRES the newest version of the tables.
absl::Status CheckAssignments(Database& database, const TellFinding& tell);

// Reports of trials that are not there, and rows of logs, artifacts and usage that contradict themselves.
// REQUIRES the newest version of the tables.
absl::Status CheckLooseRows(Database& database, const TellFinding& tell);

}  // namespace winnow
