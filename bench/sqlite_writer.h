#pragma once

#include <cstdint>
#include <string>

namespace winnow {

// Returns the rows per second that one connection inserts into a table like the store's reports (WAL,
// synchronous=FULL) in a new file in `folder`, `rows_per_commit` rows per transaction, for about `seconds`.
double SqliteWriterRowsPerSecond(const std::string& folder, int rows_per_commit, double seconds);

// Returns the rows of the table `reports` in a server's database.
int64_t CountReports(const std::string& database);

}  // namespace winnow
