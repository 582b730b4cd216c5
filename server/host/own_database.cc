#include "server/host/own_database.h"

#include <utility>

#include "absl/status/status.h"
#include "store/database/wal_check.h"

namespace winnow {

absl::Status OwnDatabase::StillOwn() const {
  if (leadership == nullptr) return absl::OkStatus();
  return leadership->Guard(store->database());
}

absl::StatusOr<OwnDatabase> TakeDatabase(const std::string& name) {
  OwnDatabase own;
  if (IsPostgres(name)) {
    absl::StatusOr<std::unique_ptr<Leadership>> leadership = Leadership::TakeAtOnce(name);
    if (!leadership.ok()) return leadership.status();
    own.leadership = *std::move(leadership);
    // Without beats a server that waits would take the lead. StillOwn tells of a loss.
    own.leadership->Keep([](const absl::Status&) {});
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

}  // namespace winnow
