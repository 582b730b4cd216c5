#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace winnow {

// Converts PostgreSQL's SQLSTATE to our codes, as SqliteStatus does: unique violation -> ALREADY_EXISTS,
// other constraints, missing rights and read-only servers -> FAILED_PRECONDITION, a full disk ->
// RESOURCE_EXHAUSTED, a connection that is lost or a server that stops -> UNAVAILABLE, damage, or another
// server that leads (nothing more can be recorded) -> DATA_LOSS, otherwise INTERNAL. `sqlstate` "": none, the
// connection is lost.
absl::Status PostgresStatus(std::string_view sqlstate, std::string_view database, std::string_view message,
                            std::string_view doing);

// FAILED_PRECONDITION unless `address` is an address of PostgreSQL that contains no password: it would be
// seen in lists of processes and in logs.
absl::Status CheckPostgresAddress(const std::string& address);
// The name of the database in a checked address.
std::string PostgresDatabaseName(const std::string& address);

// The status of a connection that was refused: FAILED_PRECONDITION if time does not change that, else
// UNAVAILABLE. `needs_password`: the server asked for one, and there was none.
absl::Status PostgresRefusal(std::string_view database, std::string_view message, bool needs_password);

}  // namespace winnow
