#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/database.h"

namespace winnow {

// A table, and the columns by which its rows are ordered and told apart.
struct MovedTable {
  const char* name;
  const char* key;
};
// All tables of rows; those that others refer to come first.
const std::vector<MovedTable>& MovedTables();

// Copies every row of `from` to `to`, of whatever kind each is, in one transaction, and compares what was
// written with what was read. Returns the number of rows. FAILED_PRECONDITION: `to` has jobs, workers or
// tokens already. DATA_LOSS: a row differs; then nothing is kept. REQUIRES: both are at the newest version,
// and nobody writes to either.
absl::StatusOr<int64_t> MoveRows(Database& from, Database& to);

}  // namespace winnow
