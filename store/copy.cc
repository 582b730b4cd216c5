#include "store/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <string.h>

#include <filesystem>

#include "store/database/foreign_file.h"
#include "store/database/room.h"
#include "store/database/sqlite_database.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// Pages, some milliseconds, between two checks of `cancelled`.
constexpr int kPagesPerStep = 1024;

absl::Status CopyPages(SqliteDatabase& source, SqliteDatabase& copy, const std::function<bool()>& cancelled) {
  sqlite3_backup* backup = sqlite3_backup_init(copy.handle(), "main", source.handle(), "main");
  if (backup == nullptr) return copy.Error(sqlite3_extended_errcode(copy.handle()), "start a copy");
  int code = SQLITE_OK;
  while (code == SQLITE_OK && !cancelled()) code = sqlite3_backup_step(backup, kPagesPerStep);
  sqlite3_backup_finish(backup);
  if (code == SQLITE_DONE) return absl::OkStatus();
  if (code == SQLITE_OK) return absl::CancelledError("the copy was cancelled");
  // A damaged source is the source's fault, whichever side reports it.
  return ((code & 0xff) == SQLITE_CORRUPT ? source : copy).Error(code, "copy");
}

absl::Status Copy(const std::string& from, const std::string& to, const std::function<bool()>& cancelled,
                  OpenMode mode) {
  absl::StatusOr<std::unique_ptr<SqliteDatabase>> source = SqliteDatabase::Open(from, mode);
  if (!source.ok()) return source.status();
  // All reads from here on are of one moment: a writer neither waits for the copy nor restarts it.
  absl::StatusOr<std::unique_ptr<Transaction>> moment = Transaction::BeginRead(**source);
  if (!moment.ok()) return moment.status();
  absl::StatusOr<int64_t> pages = (*source)->QueryInt("PRAGMA page_count");
  if (!pages.ok()) return pages.status();
  absl::StatusOr<int64_t> page_bytes = (*source)->QueryInt("PRAGMA page_size");
  if (!page_bytes.ok()) return page_bytes.status();
  absl::StatusOr<int64_t> began = (*source)->QueryInt("SELECT COUNT(*) FROM sqlite_master");
  if (!began.ok()) return began.status();
  absl::Status room = CheckRoomFor(fs::absolute(to).parent_path().string(), *pages * *page_bytes);
  if (!room.ok()) return room;
  // With permissions as private as the source's.
  const OwnedDescriptor made(open(to.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!made.ok()) return absl::FailedPreconditionError(fmt::format("{}: {}", to, strerror(errno)));
  absl::StatusOr<std::unique_ptr<SqliteDatabase>> copy = SqliteDatabase::Open(to, OpenMode::kNew);
  if (!copy.ok()) return copy.status();
  return CopyPages(**source, **copy, cancelled);
}

}  // namespace

absl::Status CopyDatabase(const std::string& from, const std::string& to,
                          const std::function<bool()>& cancelled, OpenMode mode) {
  if (IsPostgres(from)) {
    return absl::FailedPreconditionError(
        "this server's database is PostgreSQL; back it up with PostgreSQL's own tools, such as pg_dump, or "
        "copy it "
        "to a file with winnow-server --copy-to");
  }
  std::error_code none;
  fs::remove(to, none);
  absl::Status status = Copy(from, to, cancelled, mode);
  if (!status.ok()) fs::remove(to, none);
  return status;
}

}  // namespace winnow
