#include "store/database/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/check.h"
#include "store/database/faults/commit_hook.h"
#include "store/database/postgres_database.h"
#include "store/database/sqlite_database.h"

namespace winnow {

bool IsPostgres(std::string_view name) {
  return name.starts_with("postgresql://") || name.starts_with("postgres://");
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& name, OpenMode mode) {
  if (IsPostgres(name)) return PostgresDatabase::Open(name, mode);
  return SqliteDatabase::Open(name, mode);
}

void HookCommits(Database& database, CommitHook* hook) {
  if (auto* postgres = dynamic_cast<PostgresDatabase*>(&database)) return postgres->HookCommits(hook);
  // SQLite calls it when only its result can still fail the commit: not 0 does.
  const auto on_commit = [](void* raw) {
    auto* self = static_cast<CommitHook*>(raw);
    if (self->FateOf() != CommitFate::kCommits) return 1;
    self->Committed();
    return 0;
  };
  sqlite3* const handle = dynamic_cast<SqliteDatabase&>(database).handle();
  sqlite3_commit_hook(handle, hook == nullptr ? nullptr : +on_commit, hook);
}

absl::StatusOr<int64_t> Database::QueryInt(std::string_view sql) {
  Statement statement(*this, sql);
  absl::StatusOr<bool> row = statement.Bind().Next();
  if (!row.ok()) return row.status();
  if (!*row) return absl::NotFoundError(fmt::format("{}: no row ({})", file_, sql));
  return statement.Int(0);
}

Cursor& Statement::Ready() {
  if (cursor_ == nullptr) cursor_ = database_.Prepare(sql_);
  return *cursor_;
}

Statement& Statement::BindAll(const std::vector<ColumnValue>& values) {
  Ready().Reset();
  int index = 0;
  for (const ColumnValue& value : values) {
    ++index;
    if (const auto* number = std::get_if<int64_t>(&value)) {
      cursor_->BindInt(index, *number);
    } else if (const auto* real = std::get_if<double>(&value)) {
      cursor_->BindReal(index, *real);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      cursor_->BindText(index, *text);
    } else if (const auto* blob = std::get_if<Blob>(&value)) {
      cursor_->BindBlob(index, blob->bytes);
    } else {
      cursor_->BindNull(index);
    }
  }
  return *this;
}

absl::Status Statement::Run() {
  absl::StatusOr<bool> row = Next();
  if (!row.ok()) return row.status();
  WINNOW_CHECK(!*row, "a statement that is only run gives no row: " + std::string(sql_));
  return absl::OkStatus();
}

absl::Status Statement::ForEach(const std::function<absl::Status()>& row) {
  while (true) {
    absl::StatusOr<bool> there = Next();
    if (!there.ok()) return there.status();
    if (!*there) return absl::OkStatus();
    absl::Status status = row();
    if (!status.ok()) {
      Reset();
      return status;
    }
  }
}

absl::StatusOr<std::unique_ptr<Transaction>> Transaction::Begin(Database& database) {
  WINNOW_CHECK(!database.in_transaction_, "one transaction at a time");
  absl::Status status = database.Begin(true);
  if (!status.ok()) return status;
  database.in_transaction_ = true;
  return std::unique_ptr<Transaction>(new Transaction(database));
}

absl::StatusOr<std::unique_ptr<Transaction>> Transaction::BeginRead(Database& database) {
  WINNOW_CHECK(!database.in_transaction_, "one transaction at a time");
  absl::Status status = database.Begin(false);
  if (!status.ok()) return status;
  database.in_transaction_ = true;
  return std::unique_ptr<Transaction>(new Transaction(database));
}

Transaction::~Transaction() {
  if (!open_) return;
  database_.in_transaction_ = false;
  ++database_.rollbacks_;
  database_.Rollback();
}

absl::Status Transaction::Commit() {
  absl::Status status = database_.Commit();
  if (!status.ok()) return status;  // the destructor rolls back
  open_ = false;
  database_.in_transaction_ = false;
  return absl::OkStatus();
}

}  // namespace winnow
