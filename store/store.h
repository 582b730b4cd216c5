#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "store/artifacts.h"
#include "store/assignments.h"
#include "store/database.h"
#include "store/facts.h"
#include "store/jobs.h"
#include "store/logs.h"
#include "store/summaries.h"
#include "store/tokens.h"
#include "store/trials.h"
#include "store/usage.h"
#include "store/workers.h"

namespace winnow {

// All tables over one connection. Not thread-safe: one thread at a time.
class Store {
 public:
  // Brings the file to the newest version; see Migrate for what is refused. Opens it on a full disk too, if it was
  // opened before when there was room: what can be read can be told.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const std::string& file);
  // REQUIRES a file that is at the newest version. Writes are refused.
  static absl::StatusOr<std::unique_ptr<Store>> OpenReadOnly(const std::string& file);

  // REQUIRES a database at the newest version.
  static std::unique_ptr<Store> Over(std::unique_ptr<Database> database);

  // 16 hexadecimal digits that no other database has.
  absl::StatusOr<std::string> Identity();

  // Runs `body` in one transaction: committed if it returns OK, else rolled back. Nobody else says BEGIN.
  absl::Status Write(const std::function<absl::Status()>& body);
  // Everything that `body` reads is of one moment.
  absl::Status Read(const std::function<absl::Status()>& body);

 private:
  explicit Store(std::unique_ptr<Database> database);
  std::unique_ptr<Database> database_;

 public:
  Database& database() { return *database_; }
  JobTable jobs;
  FactTable facts;
  TrialTable trials;
  WorkerTable workers;
  AssignmentTable assignments;
  LogTable logs;
  TokenTable tokens;
  ArtifactTable artifacts;
  SummaryTable summaries;
  UsageTable usage;
};

}  // namespace winnow
