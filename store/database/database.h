#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow {

enum class OpenMode {
  kReadWrite,
  kReadOnly,
  kNew,    // a copy in progress: an incomplete one is deleted
  kStill,  // nobody writes it, and its folder may be read-only: ignores a log beside it
};

// A column's value as it is, to be written elsewhere.
struct Blob {
  std::string bytes;
};
using ColumnValue = std::variant<std::nullptr_t, int64_t, double, std::string, Blob>;

// A statement as one kind of database runs it; see Statement.
class Cursor {
 public:
  virtual ~Cursor() = default;
  // Discards the last execution; what is bound stays.
  virtual void Reset() = 0;
  // `index` begins at 1. Next and RunLater report errors.
  virtual void BindInt(int index, int64_t value) = 0;
  virtual void BindReal(int index, double value) = 0;
  virtual void BindText(int index, std::string_view value) = 0;
  virtual void BindBlob(int index, std::string_view value) = 0;
  virtual void BindNull(int index) = 0;
  virtual absl::StatusOr<bool> Next() = 0;
  virtual absl::Status RunLater() = 0;
  virtual int64_t Int(int column) const = 0;
  virtual double Real(int column) const = 0;
  virtual std::string Text(int column) const = 0;
  virtual bool IsNull(int column) const = 0;
  virtual ColumnValue Get(int column) const = 0;
};

// Whether `name` is the address of a PostgreSQL database (postgresql://… or postgres://…), not a file.
bool IsPostgres(std::string_view name);

// One connection to a database: a SQLite file, or a PostgreSQL database. Statements are written in SQLite's
// SQL; store/database/postgres_dialect.h says what becomes of them elsewhere. Not thread-safe.
class Database {
 public:
  // `name`: a file (see store/database/sqlite_database.h), or the address of a PostgreSQL database (see
  // store/database/postgres_database.h). ":memory:" gives a private database in memory. All modes but
  // kReadWrite and kNew REQUIRE: the file exists.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& name, OpenMode mode);
  virtual ~Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs statements that return no rows.
  virtual absl::Status Execute(const std::string& sql) = 0;
  // Returns the first column of the first row.
  absl::StatusOr<int64_t> QueryInt(std::string_view sql);

  // Returns the rows changed by the newest INSERT, UPDATE or DELETE. REQUIRES: it was not run by RunLater.
  virtual int64_t changes() const = 0;
  // Returns the key that the newest INSERT was given.
  virtual absl::StatusOr<int64_t> LastInsertKey() = 0;
  // The name by which it was opened; contains no password.
  const std::string& file() const { return file_; }

  // Whether Statement::RunLater may return before the statement has run.
  virtual bool runs_later() const { return false; }
  // Increases when something that was written is undone, or may be.
  int64_t rollbacks() const { return rollbacks_; }
  // Not OK: nothing can be written now, because the disk is full or the database cannot be reached.
  virtual absl::Status CheckWritable() = 0;
  // Keeps the log beside a file unchanged when the connection is closed.
  virtual void KeepLog() {}
  // Calls `tell` for damage that the database itself can find.
  virtual absl::Status CheckItself(const std::function<void(const std::string&)>& tell) = 0;

  // The version of the tables; 0: there are none. FAILED_PRECONDITION: they belong to another program.
  virtual absl::StatusOr<int64_t> ReadVersion() = 0;
  // Runs the statements of the migration to `version` and records that. REQUIRES: in a transaction.
  virtual absl::Status Migrate(int64_t version, const char* sql) = 0;
  virtual absl::StatusOr<std::vector<std::string>> Columns(const std::string& table) = 0;
  // The highest key that the table's column, which numbers its rows, has ever had.
  virtual absl::StatusOr<int64_t> HighestKey(const std::string& table, const std::string& column) = 0;
  virtual absl::Status SetHighestKey(const std::string& table, const std::string& column, int64_t key) = 0;

 protected:
  friend class Statement;
  friend class Transaction;
  explicit Database(std::string name) : file_(std::move(name)) {}
  virtual std::unique_ptr<Cursor> Prepare(std::string_view sql) = 0;
  virtual absl::Status Begin(bool write) = 0;
  virtual absl::Status Commit() = 0;
  virtual void Rollback() = 0;

  std::string file_;
  bool in_transaction_ = false;
  int64_t rollbacks_ = 0;
};

// A statement, prepared at first use and finalised by the destructor. REQUIRES: the database outlives it.
class Statement {
 public:
  Statement(Database& database, std::string_view sql) : database_(database), sql_(sql) {}
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Discards the last execution and binds ?1, ?2, … in order. Run or Next reports errors.
  template <typename... Values>
  Statement& Bind(const Values&... values) {
    Ready().Reset();
    int index = 0;
    (BindOne(++index, values), ...);
    return *this;
  }
  Statement& BindAll(const std::vector<ColumnValue>& values);

  // Runs to the end. REQUIRES: the statement returns no rows.
  absl::Status Run();
  // As Run, but within a transaction the statement may run as late as before the next one that is not run
  // later, or the commit, which then report its error.
  absl::Status RunLater() { return cursor_->RunLater(); }
  // True: the column functions have a row. False: done, and reset.
  absl::StatusOr<bool> Next() { return cursor_->Next(); }
  // Calls `row` for every row; stops at the first error it returns.
  absl::Status ForEach(const std::function<absl::Status()>& row);
  void Reset() { cursor_->Reset(); }

  // Columns of the current row, from 0.
  int64_t Int(int column) const { return cursor_->Int(column); }
  double Real(int column) const { return cursor_->Real(column); }
  std::string Text(int column) const { return cursor_->Text(column); }  // blobs too; "" for NULL
  bool IsNull(int column) const { return cursor_->IsNull(column); }
  ColumnValue Get(int column) const { return cursor_->Get(column); }

 private:
  Cursor& Ready();
  void BindOne(int index, int64_t value) { cursor_->BindInt(index, value); }
  void BindOne(int index, int32_t value) { cursor_->BindInt(index, value); }
  void BindOne(int index, bool value) { cursor_->BindInt(index, value); }
  void BindOne(int index, double value) { cursor_->BindReal(index, value); }
  void BindOne(int index, std::string_view value) { cursor_->BindText(index, value); }
  void BindOne(int index, const std::string& value) { cursor_->BindText(index, value); }
  void BindOne(int index, const char* value) { cursor_->BindText(index, value); }
  void BindOne(int index, std::nullptr_t) { cursor_->BindNull(index); }
  template <typename T>
  void BindOne(int index, const std::optional<T>& value) {
    value ? BindOne(index, *value) : BindOne(index, nullptr);
  }

  Database& database_;
  std::string sql_;
  std::unique_ptr<Cursor> cursor_;
};

// The destructor rolls back what was not committed. Does not nest.
class Transaction {
 public:
  // REQUIRES: no transaction is open on `database`.
  static absl::StatusOr<std::unique_ptr<Transaction>> Begin(Database& database);
  // A transaction that reads one state of the database.
  static absl::StatusOr<std::unique_ptr<Transaction>> BeginRead(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // After an error the database contains nothing of the transaction; only after UNAVAILABLE it may contain
  // all of it.
  absl::Status Commit();

 private:
  explicit Transaction(Database& database) : database_(database) {}
  Database& database_;
  bool open_ = true;
};

}  // namespace winnow
