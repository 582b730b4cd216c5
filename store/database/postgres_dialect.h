#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace winnow {

// The one place where PostgreSQL differs: our statements and migrations are written in SQLite's SQL, and
// these functions turn them into PostgreSQL's.

// A statement of our code: ?1 becomes $1, INSERT OR REPLACE becomes ON CONFLICT DO UPDATE, and so on.
std::string PostgresStatement(std::string_view sql);

// The same INSERT for many rows, whose parameters are arrays of the types `types`, one for each parameter; ""
// if it is not a plain INSERT of its parameters that leaves rows that are there alone or fails.
std::string PostgresManyRows(std::string_view statement, const std::string* types, size_t count);

// What comes before the first migration: the tables and functions that only PostgreSQL needs.
std::string PostgresPrelude();
// The migration to `version`. Those before PostgreSQL was supported change no rows, since there were none.
std::string PostgresMigration(int64_t version, std::string_view sql);

}  // namespace winnow
