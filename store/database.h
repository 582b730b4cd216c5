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

// The one place where SQLite's extended result codes become ours: unique and primary key -> ALREADY_EXISTS,
// other constraints -> FAILED_PRECONDITION, busy and locked -> UNAVAILABLE, full disk -> RESOURCE_EXHAUSTED,
// corrupt or foreign file -> DATA_LOSS, read-only or missing file -> FAILED_PRECONDITION, else (a disk that
// fails among them) INTERNAL. The message names the file, what is wrong and what to do about it.
absl::Status SqliteStatus(int extended_code, std::string_view file, std::string_view message,
                          std::string_view doing);

enum class OpenMode {
  kReadWrite,
  kReadOnly,
  kNew,      // a copy that is being made: one that breaks off is thrown away
  kStill,    // nobody writes it, and its folder may be read-only: a log beside it is not looked at
};

// One connection: WAL, synchronous = FULL, foreign keys on. Not thread-safe: used by one thread at a time.
class Database {
 public:
  // ":memory:" gives a private database in memory. All but kReadWrite and kNew REQUIRE the file to exist.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& file, OpenMode mode);
  // Another program's file, to be read: nothing of it or beside it is written, and nothing that its schema says is run
  // but what SQLite takes for harmless. Values above 1 MiB are refused. While it is asked something, `go_on` is asked
  // now and then; when that says no, what was asked ends (see Error). REQUIRES `foreign` outlives it. A file in WAL mode is
  // taken to be still: see ForeignFile::log_bytes.
  static absl::StatusOr<std::unique_ptr<Database>> OpenForeign(const ForeignFile& foreign, GoOn go_on);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs statements that give no rows.
  absl::Status Execute(const std::string& sql);
  // The first column of the first row.
  absl::StatusOr<int64_t> QueryInt(std::string_view sql);

  // The log beside the file stays as it is when the connection is closed, for whom it is to be found as it was.
  void KeepLog();

  // Rows changed by the newest INSERT, UPDATE or DELETE.
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
  absl::Status stopped_;  // what it said when it said no
};

// A statement that is prepared at its first use and finalised by the destructor. REQUIRES the database
// outlives it.
class Statement {
 public:
  Statement(Database& database, std::string_view sql) : database_(database), sql_(sql) {}
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Forgets the last execution and binds ?1, ?2, … in order. An error shows at Run or Next.
  template <typename... Values>
  Statement& Bind(const Values&... values) {
    Reset();
    int index = 0;
    (BindOne(++index, values), ...);
    return *this;
  }

  // Runs to the end. REQUIRES the statement gives no rows.
  absl::Status Run();
  // True: a row is there for the column functions. False: done, and reset.
  absl::StatusOr<bool> Next();
  // Calls `row` for every row; stops at the first error it returns.
  absl::Status ForEach(const std::function<absl::Status()>& row);
  void Reset();

  // Columns of the present row, from 0.
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

// BEGIN IMMEDIATE … COMMIT; the destructor rolls back what was not committed. There is no nesting.
class Transaction {
 public:
  // REQUIRES no transaction is open on `database`.
  static absl::StatusOr<std::unique_ptr<Transaction>> Begin(Database& database);
  // A transaction that reads one state of the file throughout.
  static absl::StatusOr<std::unique_ptr<Transaction>> BeginRead(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // After an error nothing of the transaction is in the file.
  absl::Status Commit();

 private:
  explicit Transaction(Database& database) : database_(database) {}
  Database& database_;
  bool open_ = true;
};

}  // namespace winnow
