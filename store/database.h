#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/foreign_file.h"

struct sqlite3;
struct sqlite3_stmt;

namespace winnow {

// The one place that converts SQLite's extended result codes to ours: unique and primary key ->
// ALREADY_EXISTS, other constraints -> FAILED_PRECONDITION, busy and locked -> UNAVAILABLE, full disk ->
// RESOURCE_EXHAUSTED, corrupt or foreign file -> DATA_LOSS, read-only or missing file -> FAILED_PRECONDITION,
// otherwise (such as a failing disk) INTERNAL. The message names the file, the error and what to do.
absl::Status SqliteStatus(int extended_code, std::string_view file, std::string_view message,
                          std::string_view doing);

enum class OpenMode {
  kReadWrite,
  kReadOnly,
  kNew,      // a copy in progress: an incomplete one is deleted
  kStill,    // nobody writes it, and its folder may be read-only: ignores a log beside it
};

// One connection: WAL, synchronous = FULL, foreign keys on. Not thread-safe.
class Database {
 public:
  // ":memory:" gives a private database in memory. All modes but kReadWrite and kNew REQUIRE: the file
  // exists.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& file, OpenMode mode);
  // Opens another program's file for reading: writes neither to it nor beside it, and runs nothing from its
  // schema except what SQLite considers harmless. Refuses values above 1 MiB. Polls `go_on` during queries;
  // when it is not OK, the query ends (see Error). A file in WAL mode is read without its log: see
  // ForeignFile::log_bytes. REQUIRES: `foreign` outlives it.
  static absl::StatusOr<std::unique_ptr<Database>> OpenForeign(const ForeignFile& foreign, GoOn go_on);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs statements that return no rows.
  absl::Status Execute(const std::string& sql);
  // Returns the first column of the first row.
  absl::StatusOr<int64_t> QueryInt(std::string_view sql);

  // Keeps the log beside the file unchanged when the connection is closed.
  void KeepLog();

  // Returns the rows changed by the newest INSERT, UPDATE or DELETE.
  int64_t changes() const;
  int64_t last_insert_key() const;
  const std::string& file() const { return file_; }
  sqlite3* handle() const { return handle_; }
  absl::Status Error(int code, std::string_view doing) const;

 private:
  friend class Statement;
  friend class Transaction;
  Database(std::string file, sqlite3* handle) : file_(std::move(file)), handle_(handle) {}
  std::string file_;
  sqlite3* handle_;
  bool in_transaction_ = false;
  GoOn go_on_;            // of a foreign file
  absl::Status stopped_;  // its status when it was not OK
};

// A statement, prepared at first use and finalised by the destructor. REQUIRES: the database outlives it.
class Statement {
 public:
  Statement(Database& database, std::string_view sql) : database_(database), sql_(sql) {}
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Discards the last execution and binds ?1, ?2, … in order. Run or Next reports errors.
  template <typename... Values>
  Statement& Bind(const Values&... values) {
    Reset();
    int index = 0;
    (BindOne(++index, values), ...);
    return *this;
  }

  // Runs to the end. REQUIRES: the statement returns no rows.
  absl::Status Run();
  // True: the column functions have a row. False: done, and reset.
  absl::StatusOr<bool> Next();
  // Calls `row` for every row; stops at the first error it returns.
  absl::Status ForEach(const std::function<absl::Status()>& row);
  void Reset();

  // Columns of the current row, from 0.
  int64_t Int(int column) const;
  double Real(int column) const;
  std::string Text(int column) const;  // blobs too; "" for NULL
  bool IsNull(int column) const;

 private:
  void Prepare();
  void BindOne(int index, int64_t value);
  void BindOne(int index, int32_t value) { BindOne(index, int64_t{value}); }
  void BindOne(int index, bool value) { BindOne(index, int64_t{value}); }
  void BindOne(int index, double value);
  void BindOne(int index, std::string_view value);
  void BindOne(int index, const std::string& value) { BindOne(index, std::string_view(value)); }
  void BindOne(int index, const char* value) { BindOne(index, std::string_view(value)); }
  void BindOne(int index, std::nullptr_t);
  template <typename T>
  void BindOne(int index, const std::optional<T>& value) {
    value ? BindOne(index, *value) : BindOne(index, nullptr);
  }
  void Note(int code);

  Database& database_;
  std::string sql_;
  sqlite3_stmt* statement_ = nullptr;
  int error_ = 0;
};

// BEGIN IMMEDIATE … COMMIT; the destructor rolls back what was not committed. Does not nest.
class Transaction {
 public:
  // REQUIRES: no transaction is open on `database`.
  static absl::StatusOr<std::unique_ptr<Transaction>> Begin(Database& database);
  // A transaction that reads one state of the file.
  static absl::StatusOr<std::unique_ptr<Transaction>> BeginRead(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // After an error the file contains nothing of the transaction.
  absl::Status Commit();

 private:
  explicit Transaction(Database& database) : database_(database) {}
  Database& database_;
  bool open_ = true;
};

}  // namespace winnow
