#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/database/database.h"
#include "store/database/postgres_status.h"

struct pg_conn;
struct pg_result;

namespace winnow {

class CommitHook;

// The text as PostgreSQL stores it: bytes 0 and what is not UTF-8 become U+FFFD.
std::string PostgresText(const std::string& text);

// One connection to a PostgreSQL database whose tables are in the first schema of its search path. What is
// run later is sent without waiting for answers (pipeline mode), and neighbours of one INSERT as one of
// arrays; so a transaction of many rows takes few round trips. A lost connection is made anew by the next
// transaction or by the next statement outside of one. Texts become what PostgresText gives.
class PostgresDatabase final : public Database {
 public:
  // REQUIRES: the encoding is UTF8. UNAVAILABLE: there is no server; FAILED_PRECONDITION: it refuses us.
  static absl::StatusOr<std::unique_ptr<PostgresDatabase>> Open(const std::string& address, OpenMode mode);
  ~PostgresDatabase() override;

  // From now on every transaction that writes fails with DATA_LOSS unless the server of `epoch` leads; a new
  // connection first waits for what an earlier one may still be committing.
  absl::Status Fence(int64_t epoch);
  // Shown by PostgreSQL's pg_stat_activity, also of later connections.
  absl::Status SetName(const std::string& name);
  // See store/database/faults/commit_hook.h.
  void HookCommits(CommitHook* hook) { hook_ = hook; }

  absl::Status Execute(const std::string& sql) override;
  int64_t changes() const override { return changes_; }
  absl::StatusOr<int64_t> LastInsertKey() override;
  bool runs_later() const override { return true; }
  absl::Status CheckWritable() override;
  absl::Status CheckItself(const std::function<void(const std::string&)>& tell) override;
  absl::StatusOr<int64_t> ReadVersion() override;
  absl::Status Migrate(int64_t version, const char* sql) override;
  absl::StatusOr<std::vector<std::string>> Columns(const std::string& table) override;
  absl::StatusOr<int64_t> HighestKey(const std::string& table, const std::string& column) override;
  absl::Status SetHighestKey(const std::string& table, const std::string& column, int64_t key) override;

 protected:
  std::unique_ptr<Cursor> Prepare(std::string_view sql) override;
  absl::Status Begin(bool write) override;
  absl::Status Commit() override;
  void Rollback() override;

 private:
  friend class PostgresCursor;
  struct FreeResult {
    void operator()(pg_result* result) const;
  };
  using Result = std::unique_ptr<pg_result, FreeResult>;
  // A statement that the server has prepared.
  struct Plan {
    std::string name;
    std::string sql;
    std::vector<unsigned> types;  // of its parameters
    std::string many;             // prepared for arrays; "": it cannot be
  };
  // Rows of one INSERT that wait to be sent together.
  struct Rows {
    const Plan* plan = nullptr;
    int count = 0;
    std::vector<std::string> columns;  // elements of arrays in PostgreSQL's binary form
    std::vector<bool> has_null;
  };

  PostgresDatabase(std::string address, OpenMode mode) : Database(std::move(address)), mode_(mode) {}
  absl::Status Connect();
  bool Alive() const;
  // Connects anew if the connection is lost and no transaction is open.
  absl::Status Ready();
  absl::StatusOr<const Plan*> FindPlan(const std::string& sql);
  absl::Status RunLater(const std::string& sql, const std::vector<ColumnValue>& values);
  absl::StatusOr<Result> Run(const std::string& sql, const std::vector<ColumnValue>& values);
  absl::Status Send(const Plan& plan, const std::vector<ColumnValue>& values);
  absl::Status SendText(const std::string& sql);
  absl::Status SendRows();
  // Waits for the answers to everything that was sent. Returns the last one.
  absl::StatusOr<Result> Drain(std::string_view doing);
  // Notes the connection's error, as that of the transaction if one is open.
  absl::Status Lost(std::string_view doing);
  absl::Status Failed(absl::Status status);
  absl::Status CommitHooked();
  // Breaks the connection, as if its network or this process had failed.
  absl::Status BreakConnection();

  const OpenMode mode_;
  pg_conn* connection_ = nullptr;
  std::string application_;
  int64_t epoch_ = 0;  // 0: not fenced
  std::map<std::string, std::unique_ptr<Plan>> plans_;
  int64_t prepared_ = 0;
  Rows rows_;
  int unanswered_ = 0;
  bool lost_ = false;    // the connection, which libpq has not noticed
  bool open_ = false;    // a transaction, as far as this side knows
  bool writes_ = false;  // the open transaction
  CommitHook* hook_ = nullptr;
  absl::Status failed_;  // of the open transaction
  int64_t changes_ = 0;
};

}  // namespace winnow
