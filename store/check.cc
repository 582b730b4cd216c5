#include "store/check.h"

#include <fmt/format.h>

#include <filesystem>

#include "store/database/wal_check.h"

namespace winnow {
namespace {

// Reports the first column of each row of `sql`.
absl::Status TellRows(Database& database, const char* sql, const TellFinding& tell) {
  Statement rows(database, sql);
  return rows.Bind().ForEach([&] {
    tell(rows.Text(0));
    return absl::OkStatus();
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Database>> OpenToCheck(const std::string& name) {
  if (IsPostgres(name)) return Database::Open(name, OpenMode::kReadOnly);
  std::error_code none;
  // Its logs are beside the file itself.
  const std::string file = std::filesystem::canonical(name, none).string();
  if (none || !std::filesystem::is_regular_file(file, none)) {
    return absl::NotFoundError(name + ": no such file; name the database with --db");
  }
  // Before SQLite looks: it would take the damage for the log's end and record that beside the log.
  if (absl::Status log = CheckLog(file); !log.ok()) return log;
  const auto log_bytes = std::filesystem::file_size(file + "-wal", none);
  const bool has_log = !none && log_bytes > 0;
  absl::StatusOr<std::unique_ptr<Database>> database = Database::Open(file, OpenMode::kReadOnly);
  // The first access needs the log's index beside the file.
  absl::Status status =
      database.ok() ? (*database)->QueryInt("PRAGMA schema_version").status() : database.status();
  if (absl::IsFailedPrecondition(status) && !has_log) {
    database = Database::Open(file, OpenMode::kStill);
    if (!database.ok()) return database.status();
    status = (*database)->QueryInt("PRAGMA schema_version").status();
  }
  if (!status.ok()) return status;
  if (has_log) (*database)->KeepLog();
  return database;
}

absl::Status CheckFile(Database& database, const TellFinding& tell) { return database.CheckItself(tell); }

absl::Status CheckAssignments(Database& database, const TellFinding& tell) {
  constexpr const char* kChecks[] = {
      "SELECT 'assignment ' || id || ': its state is \"' || state || '\"' FROM assignments"
      " WHERE state NOT IN ('wanted', 'revoked', 'drained', 'gone') ORDER BY assignment",
      "SELECT 'assignment ' || id || ': its outcome is \"' || outcome || '\" and its state ' || state"
      " FROM assignments WHERE (state = 'gone') <> (outcome <> '') OR outcome NOT IN"
      " ('', 'finished', 'failed', 'lost', 'handed_back', 'stopped') ORDER BY assignment",
      "SELECT 'assignment ' || a.id || ': is held, but job ' || j.id || ' has ended' FROM assignments a"
      " JOIN jobs j ON j.job = a.job WHERE a.state <> 'gone' AND j.end_us <> 0 ORDER BY a.assignment",
      "SELECT 'assignment ' || a.id || ': is held by worker ' || w.name || ', which is ' || w.state"
      " FROM assignments a JOIN workers w ON w.worker = a.worker"
      " WHERE a.state <> 'gone' AND w.state NOT IN ('live', 'leaving') ORDER BY a.assignment",
      "SELECT 'assignment ' || a.id || ': there is no trial ' || a.trial FROM assignments a WHERE NOT EXISTS"
      " (SELECT 1 FROM trials t WHERE t.job = a.job AND t.trial = a.trial) ORDER BY a.assignment",
      "SELECT 'job ' || j.id || ': trial ' || a.trial || ', attempt ' || a.attempt || ' has ' || COUNT(*) ||"
      " ' ranks, the highest of which is ' || MAX(a.rank) FROM assignments a JOIN jobs j ON j.job = a.job"
      " GROUP BY j.job, a.trial, a.attempt HAVING MIN(a.rank) <> 0 OR MAX(a.rank) <> COUNT(*) - 1"
      " ORDER BY j.job, a.trial, a.attempt",
      "SELECT 'job ' || j.id || ': trial ' || a.trial || ' has live attempts ' || MIN(a.attempt) || ' and ' "
      "||"
      " MAX(a.attempt) FROM assignments a JOIN jobs j ON j.job = a.job WHERE a.state <> 'gone'"
      " GROUP BY j.job, a.trial HAVING MIN(a.attempt) <> MAX(a.attempt) ORDER BY j.job, a.trial",
  };
  for (const char* sql : kChecks) {
    absl::Status status = TellRows(database, sql, tell);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckLooseRows(Database& database, const TellFinding& tell) {
  constexpr const char* kChecks[] = {
      "SELECT 'job ' || j.id || ': there are reports of trial ' || r.trial || ', which is not there'"
      " FROM (SELECT DISTINCT job, trial FROM reports) r JOIN jobs j ON j.job = r.job WHERE NOT EXISTS"
      " (SELECT 1 FROM trials t WHERE t.job = r.job AND t.trial = r.trial) ORDER BY r.job, r.trial",
      "SELECT 'job ' || id || ': its id is not kept as taken' FROM jobs WHERE id NOT IN"
      " (SELECT id FROM taken_ids) ORDER BY job",
      "SELECT 'the file has ' || COUNT(*) || ' identities' FROM identity HAVING COUNT(*) <> 1",
      "SELECT 'artifact ' || a.artifact || ' of job ' || j.id || ': there is no trial ' || a.trial FROM "
      "artifacts a"
      " JOIN jobs j ON j.job = a.job WHERE a.kind <> 'source' AND NOT EXISTS (SELECT 1 FROM trials t WHERE "
      "t.job = a.job AND"
      " t.trial = a.trial) ORDER BY a.artifact",
      "SELECT 'artifact ' || artifact || ': blob ' || digest || ' is not known' FROM artifact_blobs WHERE "
      "digest"
      " NOT IN (SELECT digest FROM blobs) ORDER BY artifact, digest",
      "SELECT 'usage of worker ' || worker || ', which has no name' FROM (SELECT DISTINCT worker FROM "
      "worker_usage) u"
      " WHERE worker NOT IN (SELECT worker FROM usage_workers) ORDER BY worker",
      "SELECT 'usage in steps of ' || step || ' s, of which there are none' FROM (SELECT DISTINCT step FROM"
      " worker_usage) u WHERE step NOT IN (10, 60, 600) ORDER BY step",
  };
  for (const char* sql : kChecks) {
    absl::Status status = TellRows(database, sql, tell);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace winnow
