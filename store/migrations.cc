#include "store/migrations.h"

#include <fmt/format.h>

namespace winnow {
namespace {

// The tables of 0.1.0.
constexpr char kFirstRelease[] = R"sql(
CREATE TABLE jobs (
  job INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  request_id TEXT UNIQUE,
  spec TEXT NOT NULL,                       -- proto3 JSON of TuningJobSpec
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  create_us INTEGER NOT NULL,
  end_us INTEGER NOT NULL,                  -- 0: has not ended
  last_sequence INTEGER NOT NULL,
  warm_start TEXT NOT NULL DEFAULT ''       -- what it was started with, in a sentence or two
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
  last_sync_us INTEGER NOT NULL,            -- written when the state changes
  labels TEXT NOT NULL DEFAULT '{}',        -- JSON object of strings
  cpus REAL NOT NULL DEFAULT 0,             -- 0: not known
  memory_gib REAL NOT NULL DEFAULT 0,       -- 0: not known
  limits TEXT NOT NULL DEFAULT ''
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
  slots INTEGER NOT NULL DEFAULT 1,
  cpus REAL NOT NULL DEFAULT 0,
  memory_gib REAL NOT NULL DEFAULT 0,
  phase TEXT NOT NULL DEFAULT 'started',    -- placed, prepared (waits for the other ranks), started
  -- of a failure: '', out_of_memory, time_limit, not_started, ranks_gone
  cause TEXT NOT NULL DEFAULT '',
  UNIQUE (job, trial, attempt, rank)
);
CREATE INDEX assignments_held ON assignments (worker) WHERE state <> 'gone';

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

-- One row: tells this file from every other, whatever its name.
CREATE TABLE identity (id TEXT NOT NULL);
INSERT INTO identity (id) VALUES (LOWER(HEX(RANDOMBLOB(8))));

-- Workers that are given nothing new, by name: it stays when they register anew.
CREATE TABLE worker_marks (
  name TEXT PRIMARY KEY,
  scheduling TEXT NOT NULL,                 -- cordoned, draining, quarantined
  reason TEXT NOT NULL,
  until_us INTEGER NOT NULL                 -- of a quarantine; 0: until it is opened
) WITHOUT ROWID;

-- Checkpoints and models that have left their worker. Blobs are files of the server's state folder.
CREATE TABLE blobs (
  digest TEXT PRIMARY KEY,                  -- SHA-256, hexadecimal
  size INTEGER NOT NULL,
  create_us INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE artifacts (
  artifact INTEGER PRIMARY KEY AUTOINCREMENT,
  job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  trial INTEGER NOT NULL,
  kind TEXT NOT NULL,                       -- checkpoint, model
  attempt INTEGER NOT NULL,
  resource INTEGER NOT NULL,
  manifest BLOB NOT NULL,                   -- winnow.v1.Manifest
  create_us INTEGER NOT NULL,
  UNIQUE (job, trial, kind)
);
CREATE TABLE artifact_blobs (
  artifact INTEGER NOT NULL REFERENCES artifacts ON DELETE CASCADE,
  digest TEXT NOT NULL,
  PRIMARY KEY (artifact, digest)
) WITHOUT ROWID;
CREATE INDEX artifact_blobs_by_digest ON artifact_blobs (digest);

CREATE TABLE tokens (
  id TEXT PRIMARY KEY,                      -- 8 hexadecimal digits
  name TEXT NOT NULL,
  role TEXT NOT NULL,                       -- viewer, submitter, worker, admin
  hash BLOB NOT NULL,                       -- SHA-256 of the secret
  create_us INTEGER NOT NULL,
  expire_us INTEGER NOT NULL,               -- 0: never
  revoke_us INTEGER NOT NULL                -- 0: not revoked
) WITHOUT ROWID;

-- How busy workers are, in steps of 10, 60 and 600 seconds; see store/usage.h. By name: it stays over restarts.
CREATE TABLE usage_workers (
  worker INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  host TEXT NOT NULL,
  slots INTEGER NOT NULL,
  seen_s INTEGER NOT NULL                   -- about when it was heard of last
);
CREATE TABLE worker_usage (
  step INTEGER NOT NULL,                    -- in seconds
  start_s INTEGER NOT NULL,                 -- since the Unix epoch
  worker INTEGER NOT NULL,                  -- of usage_workers
  cpu INTEGER NOT NULL,                     -- mean, in thousandths of the host
  memory INTEGER NOT NULL,                  -- highest, in thousandths of the host
  slots INTEGER NOT NULL,                   -- mean held, in thousandths of a slot
  PRIMARY KEY (step, start_s, worker)
) WITHOUT ROWID;
CREATE TABLE assignment_usage (
  assignment INTEGER NOT NULL REFERENCES assignments ON DELETE CASCADE,
  second INTEGER NOT NULL,                  -- since it was placed: where the step begins
  cpus INTEGER NOT NULL,                    -- mean, in thousandths of a processor
  memory INTEGER NOT NULL,                  -- highest, in MiB
  PRIMARY KEY (assignment, second)
) WITHOUT ROWID;

-- When a job's best value changed, and to what.
CREATE TABLE best_steps (
  job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  sequence INTEGER NOT NULL,                -- of the newest fact by then
  time_us INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  objective REAL NOT NULL,
  resource INTEGER NOT NULL,                -- units that the job had trained by then
  PRIMARY KEY (job, sequence)
) WITHOUT ROWID;
-- Of jobs that have ended: winnow.v1.TuningJob without its spec, which would else follow from all facts.
CREATE TABLE job_descriptions (
  job INTEGER PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
  description BLOB NOT NULL
);
CREATE INDEX events_of_trial ON events (job, trial);
)sql";

// Divides "stopped" into "pruned" and "cancelled". Facts are unchanged: JobState::PhaseOfStopped derives the
// same from them.
constexpr char kPrunedOrCancelled[] = R"sql(
-- What a trial counts when trials are ranked, and the level of that; 0: it counts nothing.
ALTER TABLE trials ADD COLUMN value REAL;
ALTER TABLE trials ADD COLUMN value_resource INTEGER NOT NULL DEFAULT 0;
UPDATE trials SET value = best_objective, value_resource = best_resource;

CREATE TEMP TABLE closings AS
  SELECT job, MIN(sequence) AS sequence,
    MAX(kind = 'completion_met' AND IFNULL(json_extract(detail, '$.nothing_left'), 0)) AS nothing_left
  FROM events WHERE trial = 0 AND kind IN ('stop_requested', 'wall_time_reached', 'node_time_reached', 'completion_met') GROUP BY job;
CREATE TEMP TABLE trial_ends AS
  SELECT job, trial, sequence FROM events WHERE kind = 'trial_ended'
    AND job IN (SELECT job FROM trials WHERE state = 'stopped');
CREATE INDEX temp.trial_ends_by_trial ON trial_ends (job, trial);
UPDATE trials SET state = CASE
    WHEN reason LIKE 'max\_total\_resource = %' ESCAPE '\' THEN 'cancelled'
    WHEN NOT EXISTS (SELECT 1 FROM temp.closings c JOIN temp.trial_ends e ON e.job = c.job AND c.sequence < e.sequence
      WHERE e.job = trials.job AND e.trial = trials.trial) THEN 'pruned'
    WHEN (SELECT nothing_left FROM temp.closings c WHERE c.job = trials.job) AND
      (reason LIKE 'Paused at rung %' OR reason LIKE 'ASHA: %, and nothing is left that could change it.') THEN 'pruned'
    ELSE 'cancelled' END
  WHERE state = 'stopped';
DROP TABLE temp.trial_ends;
DROP TABLE temp.closings;
-- They count pruned and cancelled trials as one. The server makes them anew when it starts.
DELETE FROM job_descriptions;
)sql";

constexpr char kOwners[] = R"sql(
-- Name of the token that created it; '': none.
ALTER TABLE jobs ADD COLUMN owner TEXT NOT NULL DEFAULT '';
)sql";

constexpr char kDrainedRanks[] = R"sql(
-- Until now such a rank was one that is revoked for a reason.
UPDATE assignments SET state = 'drained' WHERE state = 'revoked' AND reason <> '';
)sql";

constexpr char kSeveralObjectives[] = R"sql(
-- Which of the metrics that rank trials it is, where sequence is not 0: Reported::metric.
ALTER TABLE reports ADD COLUMN ranking INTEGER NOT NULL DEFAULT 0;
-- The newest values of those metrics, a JSON list with null for none; '': there is one objective and no constraint.
ALTER TABLE trials ADD COLUMN metrics TEXT NOT NULL DEFAULT '';
-- By how much metric constraints are violated.
ALTER TABLE trials ADD COLUMN violation REAL NOT NULL DEFAULT 0;
)sql";

constexpr char kGpus[] = R"sql(
-- JSON list of {id, model, fault}; '': it has none.
ALTER TABLE workers ADD COLUMN gpus TEXT NOT NULL DEFAULT '';
-- Ids of the devices of its worker that the rank has, a JSON list; '': none.
ALTER TABLE assignments ADD COLUMN gpus TEXT NOT NULL DEFAULT '';
-- The part of its one device that it has; 0: all.
ALTER TABLE assignments ADD COLUMN gpu_share REAL NOT NULL DEFAULT 0;
)sql";

constexpr char kSources[] = R"sql(
-- winnow.v1.Source of the job's code, proto3 JSON; '': none. Its files are an artifact of trial 0, of kind 'source'.
ALTER TABLE jobs ADD COLUMN source TEXT NOT NULL DEFAULT '';
)sql";

constexpr char kAnnotations[] = R"sql(
-- What people wrote on jobs (trial 0) and trials. It decides nothing.
CREATE TABLE annotations (
  job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  trial INTEGER NOT NULL,
  tags TEXT NOT NULL,                       -- sorted JSON list of texts that need no escapes
  note TEXT NOT NULL,
  author TEXT NOT NULL,                     -- name of the token that wrote it last; '': none
  time_us INTEGER NOT NULL,
  PRIMARY KEY (job, trial)
) WITHOUT ROWID;

-- The texts of a job that are searched and do not change, in lower case, a line each.
CREATE TABLE job_words (job INTEGER PRIMARY KEY REFERENCES jobs ON DELETE CASCADE, words TEXT NOT NULL);
CREATE VIEW words_of_jobs AS SELECT job, LOWER(id || CHAR(10) || owner || CHAR(10) ||
  CASE WHEN JSON_VALID(spec) THEN IFNULL(JSON_EXTRACT(spec, '$.objective.metric'), '') || CHAR(10) ||
    IFNULL((SELECT GROUP_CONCAT(JSON_EXTRACT(value, '$.metric'), CHAR(10)) FROM JSON_EACH(spec, '$.objectives')), '') ||
    CHAR(10) ||
    IFNULL((SELECT GROUP_CONCAT(JSON_EXTRACT(value, '$.name'), CHAR(10)) FROM JSON_EACH(spec, '$.parameters')), '')
  ELSE '' END) AS words FROM jobs;
INSERT INTO job_words (job, words) SELECT job, words FROM words_of_jobs;
-- A filter by state need not read the specs.
CREATE INDEX jobs_by_state ON jobs (state, job);
)sql";

constexpr char kPartStarts[] = R"sql(
-- How the rank's program started: '' (not known), 'new_process', 'forked' or 'continued'.
ALTER TABLE assignments ADD COLUMN part_start TEXT NOT NULL DEFAULT '';
-- Parts of its trials whose rank 0 has started in each of these ways, and has ended.
ALTER TABLE jobs ADD COLUMN new_process_parts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN forked_parts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN continued_parts INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr char kAllocations[] = R"sql(
-- Nodes that the engines of pools are asked for. A row is committed before the engine hears of it, and the engine's job
-- has its name: so it is found again whatever was lost.
CREATE TABLE allocations (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  pool TEXT NOT NULL,
  name TEXT NOT NULL,                       -- ends in the number
  nodes INTEGER NOT NULL,
  state TEXT NOT NULL,                      -- 'planned' (not confirmed by the engine), 'queued', 'running', 'ended'
  engine_id TEXT NOT NULL,                  -- '': not known
  reason TEXT NOT NULL,                     -- why it waits or has ended
  hosts TEXT NOT NULL,                      -- JSON list; '': not known
  token TEXT NOT NULL,                      -- id of its workers' token, which dies with it; '': they need none
  cancel TEXT NOT NULL,                     -- why it was asked to end; '': it was not
  failed INTEGER NOT NULL,                  -- it was needed, and no worker has joined
  workers INTEGER NOT NULL,                 -- nodes of which a worker has joined
  cost_per_node_hour REAL NOT NULL,
  create_us INTEGER NOT NULL,
  start_us INTEGER NOT NULL,                -- 0: it has not run
  end_us INTEGER NOT NULL                   -- 0: it has not ended
);
CREATE INDEX open_allocations ON allocations (number) WHERE state <> 'ended';
CREATE INDEX allocations_by_pool ON allocations (pool, number);
)sql";

constexpr char kWorkerEnds[] = R"sql(
ALTER TABLE workers ADD COLUMN cost_per_hour REAL NOT NULL DEFAULT 0;  -- of the whole worker, in any money
ALTER TABLE workers ADD COLUMN ends_us INTEGER NOT NULL DEFAULT 0;     -- when it leaves by itself; 0: not known
)sql";

constexpr char kAudit[] = R"sql(
-- Calls that changed, or were refused to change, something: winnow.v1.AuditEntry.
CREATE TABLE audit (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  time_us INTEGER NOT NULL,
  person TEXT NOT NULL,
  token TEXT NOT NULL,
  address TEXT NOT NULL,
  method TEXT NOT NULL,
  job TEXT NOT NULL,                        -- its id; stays when the job is deleted
  trial INTEGER NOT NULL,
  subject TEXT NOT NULL,
  detail TEXT NOT NULL,
  outcome TEXT NOT NULL
);
CREATE INDEX audit_by_time ON audit (time_us);
CREATE INDEX audit_by_person ON audit (person, sequence);
CREATE INDEX audit_by_job ON audit (job, sequence);
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit BEGIN
  SELECT RAISE(ABORT, 'an entry of the audit log cannot be changed');
END;
)sql";

constexpr char kDeliveries[] = R"sql(
-- Events for webhooks: winnow.v1.Delivery. A row is committed together with what it tells of.
CREATE TABLE deliveries (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  webhook TEXT NOT NULL,                    -- its name in the server's configuration
  job TEXT NOT NULL,                        -- its id; '': of no job
  event TEXT NOT NULL,                      -- winnow.v1.Event, proto3 JSON
  replaceable INTEGER NOT NULL,             -- a newer one of the job may take its place before it was first tried
  state TEXT NOT NULL,                      -- 'waiting', 'delivered', 'given_up'
  attempts INTEGER NOT NULL,
  create_us INTEGER NOT NULL,
  next_us INTEGER NOT NULL,                 -- when it is tried next
  end_us INTEGER NOT NULL,                  -- 0: it waits
  answer TEXT NOT NULL                      -- to the newest attempt
);
CREATE INDEX waiting_deliveries ON deliveries (webhook, number) WHERE state = 'waiting';
CREATE INDEX deliveries_by_end ON deliveries (end_us);
)sql";

constexpr char kProjects[] = R"sql(
-- The default project, '', is in no table.
CREATE TABLE projects (name TEXT PRIMARY KEY, create_us INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE members (
  project TEXT NOT NULL REFERENCES projects ON DELETE CASCADE,
  person TEXT NOT NULL,                     -- the name of their tokens
  leads INTEGER NOT NULL,                   -- changes every job of the project, and its members
  PRIMARY KEY (project, person)
) WITHOUT ROWID;
ALTER TABLE jobs ADD COLUMN project TEXT NOT NULL DEFAULT '';
CREATE INDEX jobs_by_project ON jobs (project, job) WHERE project <> '';
-- A worker's: JSON list of the projects whose jobs it may run, '': all; and a pattern of the workers' names, '': any.
ALTER TABLE tokens ADD COLUMN worker_projects TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN worker_names TEXT NOT NULL DEFAULT '';
-- As worker_projects of its token.
ALTER TABLE workers ADD COLUMN projects TEXT NOT NULL DEFAULT '';
)sql";

constexpr char kLogTimes[] = R"sql(
ALTER TABLE logs ADD COLUMN received_us INTEGER NOT NULL DEFAULT 0;  -- by the server; 0: by an older one
)sql";

constexpr char kQuotas[] = R"sql(
-- What a project ('': the default one), or with a person that person in it, may have; 0: no limit.
CREATE TABLE quotas (
  project TEXT NOT NULL,
  person TEXT NOT NULL,                     -- '': the whole project
  slots INTEGER NOT NULL,
  gpus REAL NOT NULL,
  node_hours REAL NOT NULL,                 -- in a calendar month
  running_jobs INTEGER NOT NULL,
  weight REAL NOT NULL,                     -- of the whole project, as the next
  job_class INTEGER NOT NULL,
  PRIMARY KEY (project, person)
) WITHOUT ROWID;
-- What they have used until `until_us`. What they hold since then follows from the facts of the open jobs.
CREATE TABLE project_use (
  project TEXT NOT NULL,
  person TEXT NOT NULL,                     -- '': the whole project
  until_us INTEGER NOT NULL,
  slot_seconds REAL NOT NULL,               -- decayed
  month_us INTEGER NOT NULL,                -- start of the month that node_us is of
  node_us INTEGER NOT NULL,
  PRIMARY KEY (project, person)
) WITHOUT ROWID;
)sql";

constexpr char kStorageQuotas[] = R"sql(
ALTER TABLE quotas ADD COLUMN storage_gib REAL NOT NULL DEFAULT 0;
ALTER TABLE quotas ADD COLUMN told_month_us INTEGER NOT NULL DEFAULT 0;  -- month in which QUOTA_NEAR told of node-hours
ALTER TABLE quotas ADD COLUMN told_storage INTEGER NOT NULL DEFAULT 0;   -- QUOTA_NEAR told of its storage
ALTER TABLE artifacts ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;  -- of its blobs
UPDATE artifacts SET bytes = COALESCE((SELECT SUM(b.size) FROM artifact_blobs ab JOIN blobs b ON b.digest = ab.digest
                                       WHERE ab.artifact = artifacts.artifact), 0);
)sql";

constexpr char kDeletedJobs[] = R"sql(
ALTER TABLE jobs ADD COLUMN deleted_us INTEGER NOT NULL DEFAULT 0;  -- then its rows are being removed
CREATE INDEX jobs_deleted ON jobs (job) WHERE deleted_us <> 0;
)sql";

constexpr char kKeptTrials[] = R"sql(
CREATE INDEX events_of_kept ON events (job, sequence) WHERE kind = 'trial_kept';
)sql";

constexpr char kLoopbackHosts[] = R"sql(
-- Of a worker whose host is loopback: the network namespace of the machine in which alone it can be reached.
ALTER TABLE workers ADD COLUMN loopback_of TEXT NOT NULL DEFAULT '';
)sql";

constexpr char kWorkerTokens[] = R"sql(
-- Id of the token that the worker's calls come with; '': none, or none came since an older version.
ALTER TABLE workers ADD COLUMN token TEXT NOT NULL DEFAULT '';
)sql";

constexpr char kChangeRequests[] = R"sql(
-- Changes of jobs that came with a request id, by which a call that is sent again is recognised.
CREATE TABLE change_requests (
  job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  request_id TEXT NOT NULL,
  PRIMARY KEY (job, request_id)
) WITHOUT ROWID;
)sql";

constexpr char kSignIns[] = R"sql(
-- Who signed in with an OpenID Connect provider, and the name that they have had since.
CREATE TABLE persons (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,                    -- the provider's own name for them
  name TEXT NOT NULL UNIQUE,                -- of their tokens
  create_us INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) WITHOUT ROWID;
-- The tokens that a sign-in made; all others were created by an admin or for an allocation.
CREATE TABLE sign_in_tokens (
  token TEXT PRIMARY KEY REFERENCES tokens ON DELETE CASCADE
) WITHOUT ROWID;
)sql";

absl::Status Apply(Database& database, const Migration& migration) {
  absl::StatusOr<std::unique_ptr<Transaction>> transaction = Transaction::Begin(database);
  if (!transaction.ok()) return transaction.status();
  absl::Status status = database.Migrate(migration.version, migration.sql);
  if (!status.ok()) return status;
  return (*transaction)->Commit();
}

// Returns the version of a database that may be ours; 0: it is empty.
absl::StatusOr<int64_t> ReadVersion(Database& database) {
  absl::StatusOr<int64_t> version = database.ReadVersion();
  if (!version.ok()) return version.status();
  if (*version > NewestVersion()) {
    return absl::FailedPreconditionError(
        fmt::format("{}: written by a newer Winnow (version {} of the tables, this program knows up to {}); "
                    "install that version or name another database",
                    database.file(), *version, NewestVersion()));
  }
  if (*version != 0 && *version < Migrations().front().version) {
    return absl::FailedPreconditionError(fmt::format(
        "{}: written by a version before the first release (version {} of the tables, 0.1.0 wrote "
        "{}); name another database",
        database.file(), *version, Migrations().front().version));
  }
  return *version;
}

}  // namespace

const std::vector<Migration>& Migrations() {
  static const std::vector<Migration> kMigrations = {
      {8, kFirstRelease},  {9, kPrunedOrCancelled},  {10, kOwners},
      {11, kDrainedRanks}, {12, kSeveralObjectives}, {13, kGpus},
      {14, kSources},      {15, kAnnotations},       {16, kPartStarts},
      {17, kAllocations},  {18, kWorkerEnds},        {19, kAudit},
      {20, kDeliveries},   {21, kProjects},          {22, kLogTimes},
      {23, kQuotas},       {24, kStorageQuotas},     {25, kSignIns},
      {26, kDeletedJobs},  {27, kKeptTrials},        {28, kLoopbackHosts},
      {29, kWorkerTokens},
      {30, kChangeRequests},
  };
  return kMigrations;
}

absl::Status Migrate(Database& database) {
  absl::StatusOr<int64_t> version = ReadVersion(database);
  if (!version.ok()) return version.status();
  for (const Migration& migration : Migrations()) {
    if (migration.version <= *version) continue;
    absl::Status status = Apply(database, migration);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckVersion(Database& database) {
  absl::StatusOr<int64_t> version = ReadVersion(database);
  if (!version.ok()) return version.status();
  if (*version == NewestVersion()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("{}: version {} of the tables, expected {}; open it with winnow-server first",
                  database.file(), *version, NewestVersion()));
}

}  // namespace winnow
