#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace winnow {

// Copies all rows of the database `from` into the new database `to`, each a file or an address of PostgreSQL,
// reads both again and compares them. Returns the number of rows. Not OK: `to` has none of them.
// FAILED_PRECONDITION: a server has one of the databases, or `to` is not empty. NOT_FOUND: there is no file
// `from`.
absl::StatusOr<int64_t> CopyDatabase(const std::string& from, const std::string& to);

}  // namespace winnow
