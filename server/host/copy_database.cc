#include "server/host/copy_database.h"

#include <filesystem>

#include "absl/status/status.h"
#include "server/host/own_database.h"
#include "store/move.h"

namespace winnow {

absl::StatusOr<int64_t> CopyDatabase(const std::string& from, const std::string& to) {
  if (!IsPostgres(from) && !std::filesystem::exists(from)) {
    return absl::NotFoundError(from + ": no such file; name the database with --db");
  }
  absl::StatusOr<OwnDatabase> source = TakeDatabase(from);
  if (!source.ok()) return source.status();
  absl::StatusOr<OwnDatabase> target = TakeDatabase(to);
  if (!target.ok()) return target.status();
  absl::StatusOr<int64_t> rows = MoveRows(source->store->database(), target->store->database());
  if (!rows.ok()) return rows;
  for (const OwnDatabase* database : {&*source, &*target}) {
    if (absl::Status own = database->StillOwn(); !own.ok()) return own;
  }
  return rows;
}

}  // namespace winnow
