#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/database/database.h"

namespace winnow {

// A table, the columns by which its rows are ordered and told apart, and a condition: which of its rows
// belong to the jobs {jobs}, a list of keys; null: none do.
struct MovedTable {
  const char* name;
  const char* key;
  const char* of_jobs = nullptr;
};
// All tables of rows; those that others refer to come first.
const std::vector<MovedTable>& MovedTables();

// Copies every row of `from` to `to`, of whatever kind each is, in one transaction, and compares what was
// written with what was read. Returns the number of rows. FAILED_PRECONDITION: `to` has jobs, workers or
// tokens already. DATA_LOSS: a row differs; then nothing is kept. REQUIRES: both are at the newest version,
// and nobody writes to either.
absl::StatusOr<int64_t> MoveRows(Database& from, Database& to);

// What becomes of a row on its way: the value of `column` in a row of `table` may be changed.
using ChangeValue =
    std::function<absl::Status(std::string_view table, std::string_view column, ColumnValue& value)>;

// As MoveRows, but only rows of the jobs with these ids, each after `change`, and `to` stays another database
// than `from`, with an identity of its own. All rows are of one moment: others may write to `from` meanwhile.
// NOT_FOUND names a job that is not there; FAILED_PRECONDITION also names one that has not ended. REQUIRES:
// both are at the newest version, and nobody else has `to`, of which nothing can be used after an error.
absl::StatusOr<int64_t> MoveJobs(Database& from, Database& to, const std::vector<std::string>& ids,
                                 const ChangeValue& change);

}  // namespace winnow
