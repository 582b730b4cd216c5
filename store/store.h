#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "store/annotations.h"
#include "store/artifacts.h"
#include "store/assignments.h"
#include "store/audit.h"
#include "store/database/database.h"
#include "store/facts.h"
#include "store/jobs.h"
#include "store/logs.h"
#include "store/summaries.h"
#include "store/tokens.h"
#include "store/trials.h"
#include "store/usage.h"
#include "store/workers.h"

namespace winnow {

// All tables over one connection. Not thread-safe.
class Store {
 public:
  // Migrates the database, a file or an address (see Database::Open), to the newest version; see Migrate for
  // what is refused. A file also opens on a full disk, for reading, if it was opened before when there was
  // room.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const std::string& file);
  // REQUIRES: the database is at the newest version. Refuses writes.
  static absl::StatusOr<std::unique_ptr<Store>> OpenReadOnly(const std::string& file);

  // REQUIRES: the database is at the newest version.
  static std::unique_ptr<Store> Over(std::unique_ptr<Database> database);

  // 16 hexadecimal digits, unique to this database.
  absl::StatusOr<std::string> Identity();

  // Runs `body` in one transaction: commits if it returns OK, otherwise rolls back. Nobody else says BEGIN.
  absl::Status Write(const std::function<absl::Status()>& body);
  // All reads of `body` are of one moment.
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
  AnnotationTable annotations;
  AuditTable audit;
};

}  // namespace winnow
