#include "server/host/copy_database.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "server/host/own_files.h"
#include "store/leadership.h"
#include "store/move.h"
#include "store/store.h"
#include "store/wal_check.h"

namespace winnow {
namespace {

// A database that nobody else writes to while this exists.
struct OwnDatabase {
  std::unique_ptr<Leadership> leadership;  // of PostgreSQL
  std::optional<OwnFiles> files;           // of a file
  std::unique_ptr<Store> store;
};

absl::StatusOr<OwnDatabase> TakeDatabase(const std::string& name) {
  OwnDatabase own;
  if (IsPostgres(name)) {
    absl::StatusOr<std::unique_ptr<Leadership>> leadership = Leadership::TakeAtOnce(name);
    if (!leadership.ok()) return leadership.status();
    own.leadership = *std::move(leadership);
  } else {
    absl::StatusOr<OwnFiles> files = OwnFiles::TakeDatabase(name);
    if (!files.ok()) return files.status();
    own.files = *std::move(files);
    if (absl::Status log = CheckLog(own.files->database()); !log.ok()) return log;
  }
  absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(name);
  if (!store.ok()) return store.status();
  own.store = *std::move(store);
  if (own.leadership == nullptr) return own;
  if (absl::Status status = own.leadership->Guard(own.store->database()); !status.ok()) return status;
  return own;
}

}  // namespace

absl::StatusOr<int64_t> CopyDatabase(const std::string& from, const std::string& to) {
  if (!IsPostgres(from) && !std::filesystem::exists(from)) {
    return absl::NotFoundError(from + ": no such file; name the database with --db");
  }
  absl::StatusOr<OwnDatabase> source = TakeDatabase(from);
  if (!source.ok()) return source.status();
  absl::StatusOr<OwnDatabase> target = TakeDatabase(to);
  if (!target.ok()) return target.status();
  return MoveRows(source->store->database(), target->store->database());
}

}  // namespace winnow
