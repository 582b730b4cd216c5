#include "store/migrations.h"

#include <fmt/format.h>

namespace winnow {
namespace {

constexpr char kBaseTables[] = R"sql(
CREATE TABLE jobs (
  job INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  request_id TEXT UNIQUE,
  spec TEXT NOT NULL,                       -- proto3 JSON of TuningJobSpec
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  create_us INTEGER NOT NULL,
  end_us INTEGER NOT NULL,                  -- 0: has not ended
  last_sequence INTEGER NOT NULL
);
-- Ids stay taken after their job was deleted: checkpoints on workers go by them.
CREATE TABLE taken_ids (id TEXT PRIMARY KEY) WITHOUT ROWID;

-- Facts other than reports; sequence counts both.
CREATE TABLE events (
  job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  time_us INTEGER NOT NULL,
  kind TEXT NOT NULL,
  trial INTEGER NOT NULL,                   -- 0: of the job
  detail TEXT NOT NULL,                     -- JSON
  PRIMARY KEY (job, sequence)
) WITHOUT ROWID;

-- The rows of one part of a trial lie together, in the order in which they come.
CREATE TABLE reports (
  job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  resource INTEGER NOT NULL,
  metric TEXT NOT NULL,
  value REAL,                               -- NULL: not a number
  time_us INTEGER NOT NULL,
  sequence INTEGER NOT NULL,                -- of the Reported fact; 0: not the objective
  PRIMARY KEY (job, trial, attempt, resource, metric)
) WITHOUT ROWID;

-- What the facts say of each trial, for queries.
CREATE TABLE trials (
  job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  trial INTEGER NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  configuration TEXT NOT NULL,              -- JSON list in the order of the spec
  objective REAL,                           -- the newest
  resource INTEGER NOT NULL,
  best_objective REAL,
  best_resource INTEGER NOT NULL,
  bracket INTEGER NOT NULL,
  rung INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  create_us INTEGER NOT NULL,
  start_us INTEGER NOT NULL,
  end_us INTEGER NOT NULL,
  training_us INTEGER NOT NULL,
  trained_resource INTEGER NOT NULL,
  PRIMARY KEY (job, trial)
) WITHOUT ROWID;

CREATE TABLE workers (
  worker TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  host TEXT NOT NULL,
  slots INTEGER NOT NULL,
  storage_id TEXT NOT NULL,
  version TEXT NOT NULL,
  rendezvous_port INTEGER NOT NULL,
  state TEXT NOT NULL,
  register_us INTEGER NOT NULL,
  last_sync_us INTEGER NOT NULL             -- written when the state changes
) WITHOUT ROWID;

CREATE TABLE assignments (
  assignment INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  worker TEXT NOT NULL REFERENCES workers,
  port INTEGER NOT NULL,                    -- on which rank 0 may listen
  resource_from INTEGER NOT NULL,
  resource_to INTEGER NOT NULL,
  state TEXT NOT NULL,                      -- wanted, revoked, gone
  outcome TEXT NOT NULL,                    -- once gone
  reason TEXT NOT NULL,
  place_us INTEGER NOT NULL,
  start_us INTEGER NOT NULL,                -- of the process; 0: it never ran
  end_us INTEGER NOT NULL,
  UNIQUE (job, trial, attempt, rank)
);
CREATE INDEX assignments_held ON assignments (worker) WHERE state <> 'gone';
)sql";

constexpr char kLogs[] = R"sql(
CREATE TABLE logs (
  assignment INTEGER NOT NULL REFERENCES assignments ON DELETE CASCADE,
  stream INTEGER NOT NULL,                  -- 0: standard output, 1: standard error
  offset INTEGER NOT NULL,
  data BLOB NOT NULL,
  truncated INTEGER NOT NULL,
  PRIMARY KEY (assignment, stream, offset)
);
-- Facts are read in order of sequence; so are the reports among them.
CREATE UNIQUE INDEX reports_in_order ON reports (job, sequence) WHERE sequence > 0;
)sql";

constexpr char kIdentity[] = R"sql(
-- One row: tells this file from every other, whatever its name.
CREATE TABLE identity (id TEXT NOT NULL);
INSERT INTO identity (id) VALUES (LOWER(HEX(RANDOMBLOB(8))));
)sql";

constexpr char kWarmStart[] = R"sql(
-- What the job was started with, in a sentence or two; '': nothing.
ALTER TABLE jobs ADD COLUMN warm_start TEXT NOT NULL DEFAULT '';
)sql";

absl::Status Apply(Database& database, int64_t version, const char* sql) {
  absl::StatusOr<std::unique_ptr<Transaction>> transaction = Transaction::Begin(database);
  if (!transaction.ok()) return transaction.status();
  absl::Status status = database.Execute(sql);
  if (!status.ok()) return status;
  status = database.Execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, version));
  if (!status.ok()) return status;
  return (*transaction)->Commit();
}

// The version of a file that may be ours; 0: an empty file.
absl::StatusOr<int64_t> ReadVersion(Database& database) {
  absl::StatusOr<int64_t> application = database.QueryInt("PRAGMA application_id");
  if (!application.ok()) return application.status();
  absl::StatusOr<int64_t> version = database.QueryInt("PRAGMA user_version");
  if (!version.ok()) return version.status();
  absl::StatusOr<int64_t> objects = database.QueryInt("SELECT COUNT(*) FROM sqlite_master");
  if (!objects.ok()) return objects.status();
  bool empty = *application == 0 && *version == 0 && *objects == 0;
  if (*application != kApplicationId && !empty) {
    return absl::FailedPreconditionError(database.file() +
                                         ": this SQLite file belongs to another program; name another file");
  }
  int64_t newest = static_cast<int64_t>(Migrations().size());
  if (*version > newest) {
    return absl::FailedPreconditionError(
        fmt::format("{}: written by a newer Winnow (file version {}, this program knows up to {}); install "
                    "that version or name another file",
                    database.file(), *version, newest));
  }
  return *version;
}

}  // namespace

const std::vector<Migration>& Migrations() {
  static const std::vector<Migration> kMigrations = {
      {"jobs, facts, workers and assignments", kBaseTables},
      {"what trials print; reports in order of sequence", kLogs},
      {"the file's identity", kIdentity},
      {"what jobs were started with", kWarmStart},
  };
  return kMigrations;
}

absl::Status Migrate(Database& database) {
  absl::StatusOr<int64_t> version = ReadVersion(database);
  if (!version.ok()) return version.status();
  for (size_t i = *version; i < Migrations().size(); ++i) {
    absl::Status status = Apply(database, static_cast<int64_t>(i) + 1, Migrations()[i].sql);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckVersion(Database& database) {
  absl::StatusOr<int64_t> version = ReadVersion(database);
  if (!version.ok()) return version.status();
  int64_t newest = static_cast<int64_t>(Migrations().size());
  if (*version == newest) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("{}: file version {}, expected {}; open it with winnow-server first", database.file(),
                  *version, newest));
}

}  // namespace winnow
