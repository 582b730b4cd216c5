#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "store/foreign_file.h"

namespace winnow {

// A database and a state folder, whose only server this process is while the object lives: whatever names lead to them,
// since it is the files that are locked and not their names.
class OwnFiles {
 public:
  // Makes what is not there, for this user alone. FAILED_PRECONDITION: another server has one of them; the database has
  // several names (hard links), beside each of which there could be a log of its own; it cannot be opened. Nothing
  // was changed then, but that an empty database may have been made. REQUIRES no connection of this process to the database is open, nor is one when the object goes.
  static absl::StatusOr<OwnFiles> Take(const std::string& database, const std::string& state_dir);

  // With links resolved.
  const std::string& database() const { return database_; }

  // Takes from all other users what they may do with the database and its logs. Call it once it is known to be one of
  // ours: it is open by then.
  absl::Status MakePrivate() const;

 private:
  OwnFiles() = default;
  std::string database_;
  OwnedDescriptor lock_;    // the database itself
  OwnedDescriptor folder_;  // of state
};

}  // namespace winnow
