#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/host/own_files.h"
#include "store/leadership.h"
#include "store/store.h"

namespace winnow {

// A database that nobody else writes to while this exists. A server that starts meanwhile waits for it.
struct OwnDatabase {
  // Not OK: another process has written to it, or may have, because this one was stopped or cut off from
  // PostgreSQL.
  absl::Status StillOwn() const;

  std::unique_ptr<Leadership> leadership;  // of PostgreSQL
  std::optional<OwnFiles> files;           // of a file
  std::unique_ptr<Store> store;
};

// FAILED_PRECONDITION: a server has it.
absl::StatusOr<OwnDatabase> TakeDatabase(const std::string& name);

}  // namespace winnow
