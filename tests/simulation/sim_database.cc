#include "tests/simulation/sim_database.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "store/leadership.h"

namespace winnow {
namespace {

class SqliteOfServers final : public SimDatabase {
 public:
  absl::Status Clear() override {
    absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(":memory:");
    if (store.ok()) store_ = *std::move(store);
    return store.status();
  }
  absl::Status BeginServer() override { return absl::OkStatus(); }
  void EndServer() override {}
  bool has_connection() const override { return false; }
  bool FillDisk(bool full) override {
    constexpr int64_t kNoLimit = 1'000'000'000;  // of pages
    // SQLite raises a smaller number to the current number of pages.
    (void)store_->database().QueryInt(fmt::format("PRAGMA max_page_count = {}", full ? 1 : kNoLimit));
    return true;
  }
};

// Every server takes the lead anew, with connections of its own.
class PostgresOfServers final : public SimDatabase {
 public:
  explicit PostgresOfServers(std::unique_ptr<Database> admin)
      : admin_(std::move(admin)), schema_(fmt::format("simulation_{}", getpid())) {}
  ~PostgresOfServers() override {
    store_ = nullptr;
    lead_ = nullptr;
    (void)admin_->Execute(fmt::format("DROP SCHEMA {} CASCADE", schema_));
  }

  absl::Status Make(const std::string& address) {
    address_ = fmt::format("{}{}options=-csearch_path%3D{}", address,
                           address.find('?') == std::string::npos ? '?' : '&', schema_);
    absl::Status status = admin_->Execute(fmt::format("CREATE SCHEMA {0}; SET search_path = {0}", schema_));
    if (status.ok()) status = BeginServer();
    if (!status.ok()) return status;
    // All rows that servers have written, and the counters of their keys.
    Statement tables(*admin_,
                     "SELECT 'DELETE FROM ' || tablename FROM pg_tables WHERE schemaname = current_schema()"
                     " AND tablename NOT IN ('winnow_schema', 'identity', 'leader', 'leader_beats')"
                     " UNION ALL SELECT 'SELECT setval(''' || sequencename || ''', 1, false)'"
                     " FROM pg_sequences WHERE schemaname = current_schema()");
    clear_ = "SET session_replication_role = replica";  // in any order, with no trigger
    return tables.Bind().ForEach([&] {
      clear_ += "; " + tables.Text(0);
      return absl::OkStatus();
    });
  }
  absl::Status Clear() override {
    EndServer();
    return admin_->Execute(clear_);
  }
  absl::Status BeginServer() override {
    lead_ = nullptr;
    absl::StatusOr<std::unique_ptr<Leadership>> lead = Leadership::Take(
        address_, [](const OtherLeader&) {}, [] { return false; });
    if (!lead.ok()) return lead.status();
    absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(address_);
    if (!store.ok()) return store.status();
    if (absl::Status guarded = (*lead)->Guard((*store)->database()); !guarded.ok()) return guarded;
    lead_ = *std::move(lead);
    store_ = *std::move(store);
    return absl::OkStatus();
  }
  // The store stays for those who look at it.
  void EndServer() override { lead_ = nullptr; }
  bool has_connection() const override { return true; }
  bool FillDisk(bool) override { return false; }

 private:
  const std::unique_ptr<Database> admin_;
  const std::string schema_;
  std::string address_;
  std::string clear_;
  std::unique_ptr<Leadership> lead_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SimDatabase>> SimDatabase::Open(const std::string& address) {
  if (address.empty()) return std::make_unique<SqliteOfServers>();
  absl::StatusOr<std::unique_ptr<Database>> admin = Database::Open(address, OpenMode::kReadWrite);
  if (!admin.ok()) return admin.status();
  auto database = std::make_unique<PostgresOfServers>(*std::move(admin));
  if (absl::Status made = database->Make(address); !made.ok()) return made;
  return database;
}

}  // namespace winnow
