#include "store/store.h"

#include "store/database/room.h"
#include "store/migrations.h"

namespace winnow {

Store::Store(std::unique_ptr<Database> database)
    : database_(std::move(database)),
      jobs(*database_),
      facts(*database_),
      trials(*database_),
      workers(*database_),
      assignments(*database_),
      logs(*database_),
      tokens(*database_),
      artifacts(*database_),
      summaries(*database_),
      usage(*database_),
      annotations(*database_),
      audit(*database_) {}

namespace {

absl::StatusOr<std::unique_ptr<Database>> OpenNewest(const std::string& file) {
  absl::StatusOr<std::unique_ptr<Database>> database = Database::Open(file, OpenMode::kReadWrite);
  if (!database.ok()) return database.status();
  absl::Status status = Migrate(**database);
  if (!status.ok()) return status;
  return database;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const std::string& file) {
  absl::StatusOr<std::unique_ptr<Database>> database = OpenNewest(file);
  if (IsPostgres(file)) {
    // Its server keeps what it needs.
  } else if (absl::IsResourceExhausted(database.status()) && GiveUpReserve(file)) {
    database = OpenNewest(file);
  } else if (database.ok() && file != ":memory:") {
    KeepReserve(file);
  }
  if (!database.ok()) return database.status();
  return Over(*std::move(database));
}

absl::StatusOr<std::unique_ptr<Store>> Store::OpenReadOnly(const std::string& file) {
  absl::StatusOr<std::unique_ptr<Database>> database = Database::Open(file, OpenMode::kReadOnly);
  if (!database.ok()) return database.status();
  absl::Status status = CheckVersion(**database);
  if (!status.ok()) return status;
  return Over(*std::move(database));
}

std::unique_ptr<Store> Store::Over(std::unique_ptr<Database> database) {
  return std::unique_ptr<Store>(new Store(std::move(database)));
}

absl::StatusOr<std::string> Store::Identity() {
  Statement select(*database_, "SELECT id FROM identity");
  absl::StatusOr<bool> row = select.Bind().Next();
  if (!row.ok()) return row.status();
  if (!*row) return absl::DataLossError(database_->file() + ": the database's identity is missing");
  return select.Text(0);
}

absl::Status Store::Write(const std::function<absl::Status()>& body) {
  absl::StatusOr<std::unique_ptr<Transaction>> transaction = Transaction::Begin(*database_);
  if (!transaction.ok()) return transaction.status();
  absl::Status status = body();
  if (!status.ok()) return status;
  return (*transaction)->Commit();
}

absl::Status Store::Read(const std::function<absl::Status()>& body) {
  absl::StatusOr<std::unique_ptr<Transaction>> transaction = Transaction::BeginRead(*database_);
  if (!transaction.ok()) return transaction.status();
  absl::Status status = body();
  if (!status.ok()) return status;
  return (*transaction)->Commit();
}

}  // namespace winnow
