#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/database/foreign_file.h"

namespace winnow {

// Makes this process the only server of a database and a state folder for the lifetime of the object. It
// locks the files themselves, so it does not matter by which names they are reached.
class OwnFiles {
 public:
  // Creates what is missing, private to this user. FAILED_PRECONDITION: another server has one of them; the
  // database has several names (hard links), each of which could have a log of its own; or it cannot be
  // opened. Nothing was changed then, except that an empty database may have been created. REQUIRES: no
  // connection of this process to the database is open now, nor when the object is destroyed.
  static absl::StatusOr<OwnFiles> Take(const std::string& database, const std::string& state_dir);
  // Locks one of them alone: a file that is moved, or the folder of a server whose database is no file.
  static absl::StatusOr<OwnFiles> TakeDatabase(const std::string& database);
  static absl::StatusOr<OwnFiles> TakeFolder(const std::string& state_dir);

  // With links resolved; "": it has none.
  const std::string& database() const { return database_; }

  // Removes the permissions of all other users on the database and its logs. Call it once it is known to be a
  // database of Winnow: it is open by then.
  absl::Status MakePrivate() const;

 private:
  OwnFiles() = default;
  std::string database_;
  OwnedDescriptor lock_;    // the database itself
  OwnedDescriptor folder_;  // of state
};

// Ends the local workers that live on from a server that was killed: their results are not needed.
void EndLocalWorkers(const std::filesystem::path& state_dir);

// Creates `state_dir` and ties it to a database. It contains checkpoints by job and trial, so this database's
// trials must not find those of another database (one that was deleted, with a job of the same name): they
// are moved to `state_dir`/before-<its identity>, with one line to `log`, and come back with that database.
// FAILED_PRECONDITION: it is not empty and was never a state folder. REQUIRES: no other server has it
// (OwnFiles).
absl::Status PrepareStateDir(const std::filesystem::path& state_dir, const std::string& database_identity,
                             const std::function<void(const std::string&)>& log);

}  // namespace winnow
