#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/database/database.h"
#include "store/database/foreign_file.h"

struct sqlite3;

namespace winnow {

// The one place that converts SQLite's extended result codes to ours: unique and primary key ->
// ALREADY_EXISTS, other constraints -> FAILED_PRECONDITION, busy and locked -> UNAVAILABLE, full disk ->
// RESOURCE_EXHAUSTED, corrupt or foreign file -> DATA_LOSS, read-only or missing file -> FAILED_PRECONDITION,
// otherwise (such as a failing disk) INTERNAL. The message names the file, the error and what to do.
absl::Status SqliteStatus(int extended_code, std::string_view file, std::string_view message,
                          std::string_view doing);

// "WINN": marks a file as ours (PRAGMA application_id).
inline constexpr int64_t kApplicationId = 0x57494e4e;

// One connection to a SQLite file: WAL, synchronous = FULL, foreign keys on. A transaction that writes is
// BEGIN IMMEDIATE.
class SqliteDatabase final : public Database {
 public:
  // As Database::Open.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(const std::string& file, OpenMode mode);
  // Opens another program's file for reading: writes neither to it nor beside it, and runs nothing from its
  // schema except what SQLite considers harmless. Refuses values above 1 MiB. Polls `go_on` during queries;
  // when it is not OK, the query ends (see Error). A file in WAL mode is read without its log: see
  // ForeignFile::log_bytes. REQUIRES: `foreign` outlives it.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> OpenForeign(const ForeignFile& foreign, GoOn go_on);
  ~SqliteDatabase() override;

  absl::Status Execute(const std::string& sql) override;
  int64_t changes() const override;
  absl::StatusOr<int64_t> LastInsertKey() override;
  absl::Status CheckWritable() override;
  void KeepLog() override;
  absl::Status CheckItself(const std::function<void(const std::string&)>& tell) override;
  absl::StatusOr<int64_t> ReadVersion() override;
  absl::Status Migrate(int64_t version, const char* sql) override;
  absl::StatusOr<std::vector<std::string>> Columns(const std::string& table) override;
  absl::StatusOr<int64_t> HighestKey(const std::string& table, const std::string& column) override;
  absl::Status SetHighestKey(const std::string& table, const std::string& column, int64_t key) override;

  sqlite3* handle() const { return handle_; }
  absl::Status Error(int code, std::string_view doing) const;

 protected:
  std::unique_ptr<Cursor> Prepare(std::string_view sql) override;
  absl::Status Begin(bool write) override;
  absl::Status Commit() override;
  void Rollback() override;

 private:
  friend class SqliteCursor;
  SqliteDatabase(std::string file, sqlite3* handle) : Database(std::move(file)), handle_(handle) {}
  sqlite3* handle_;
  GoOn go_on_;            // of a foreign file
  absl::Status stopped_;  // its status when it was not OK
};

}  // namespace winnow
