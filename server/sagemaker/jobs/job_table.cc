#include "server/sagemaker/jobs/job_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_split.h"

namespace winnow {
namespace {

constexpr char kSchema[] = R"(
CREATE TABLE IF NOT EXISTS jobs (account TEXT, kind INTEGER, name TEXT COLLATE NOCASE, parent TEXT, trial INTEGER, region TEXT,
  key_id TEXT, request TEXT, winnow_job TEXT, status TEXT, secondary TEXT, created_us INTEGER, started_us INTEGER,
  ended_us INTEGER, modified_us INTEGER, objective REAL, result TEXT, PRIMARY KEY (account, kind, name));
DROP INDEX IF EXISTS jobs_by_time;
DROP INDEX IF EXISTS jobs_by_parent;
CREATE INDEX IF NOT EXISTS jobs_listed ON jobs (account, kind, created_us, name, parent, status, modified_us, objective);
CREATE INDEX IF NOT EXISTS jobs_named ON jobs (account, kind, name, parent, status, created_us, modified_us, objective);
CREATE INDEX IF NOT EXISTS jobs_by_status ON jobs (account, kind, status, name, parent, created_us, modified_us, objective);
CREATE INDEX IF NOT EXISTS jobs_of_parent ON jobs (account, parent, status, objective, name, created_us, modified_us, kind) WHERE parent != '';
CREATE INDEX IF NOT EXISTS jobs_unfinished ON jobs (status) WHERE status IN ('InProgress', 'Stopping');
CREATE TABLE IF NOT EXISTS tags (account TEXT, arn TEXT, key TEXT, value TEXT, PRIMARY KEY (account, arn, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS keys_of_jobs (id TEXT PRIMARY KEY, secret TEXT, account TEXT, kind INTEGER, name TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS job_keys (id TEXT PRIMARY KEY, secret TEXT, account TEXT) WITHOUT ROWID;
INSERT OR IGNORE INTO keys_of_jobs SELECT id, secret, account, NULL, NULL FROM job_keys;
DROP TABLE job_keys;
)";

// Removes the keys of jobs that have ended or are not there any more. Older keys have no name: they stay
// while their account has any job that has not ended.
constexpr char kRemoveOldKeys[] =
    "DELETE FROM keys_of_jobs WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE parent = '' AND "
    "status IN ('InProgress', 'Stopping') AND jobs.account = keys_of_jobs.account AND (keys_of_jobs.name IS "
    "NULL OR (jobs.kind = "
    "keys_of_jobs.kind AND jobs.name = keys_of_jobs.name)))";

// Requests are large: what selects, counts and sorts jobs is in the indices.
constexpr char kColumns[] =
    "account, kind, name, parent, trial, region, key_id, request, winnow_job, status, secondary, created_us, "
    "started_us, ended_us, modified_us, objective, result";

SagemakerJob RowOf(const Statement& at) {
  SagemakerJob row;
  row.account = at.Text(0);
  row.kind = static_cast<SagemakerJob::Kind>(at.Int(1));
  row.name = at.Text(2);
  row.parent = at.Text(3);
  row.trial = at.Int(4);
  row.region = at.Text(5);
  row.key_id = at.Text(6);
  row.request = at.Text(7);
  row.winnow_job = at.Text(8);
  row.status = at.Text(9);
  row.secondary = at.Text(10);
  row.created_us = at.Int(11);
  row.started_us = at.Int(12);
  row.ended_us = at.Int(13);
  row.modified_us = at.Int(14);
  if (!at.IsNull(15)) row.objective = at.Real(15);
  row.result = at.Text(16);
  return row;
}

absl::Status InsertRow(Database& database, const SagemakerJob& row, std::string_view conflict) {
  Statement insert(database,
                   fmt::format("INSERT INTO jobs ({}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
                               "?11, ?12, ?13, ?14, ?15, ?16, ?17) {}",
                               kColumns, conflict));
  return insert
      .Bind(row.account, static_cast<int64_t>(row.kind), row.name, row.parent, row.trial, row.region,
            row.key_id, row.request, row.winnow_job, row.status, row.secondary, row.created_us,
            row.started_us, row.ended_us, row.modified_us, row.objective, row.result)
      .Run();
}

// Gives a new training job the tags that its tuning job has now.
absl::Status InheritTags(Database& database, const SagemakerJob& row) {
  SagemakerJob tuning = row;
  tuning.kind = SagemakerJob::kTuning;
  tuning.name = row.parent;
  Statement inherit(
      database,
      "INSERT OR IGNORE INTO tags SELECT account, ?3, key, value FROM tags WHERE account = ?1 AND "
      "arn = ?2 AND NOT EXISTS (SELECT 1 FROM jobs WHERE account = ?1 AND kind = ?4 AND name = ?5)");
  return inherit.Bind(row.account, ArnOf(tuning), ArnOf(row), static_cast<int64_t>(row.kind), row.name).Run();
}

// Takes the training jobs that a deleted tuning job of this name has left away from the name. Returns whether
// there are some.
absl::StatusOr<bool> SetAside(Database& database, const SagemakerJob& row) {
  Statement move(
      database, "UPDATE jobs SET parent = parent || '/' WHERE account = ?1 AND parent = ?2 AND parent != ''");
  if (absl::Status status = move.Bind(row.account, row.name).Run(); !status.ok()) return status;
  Statement left(database, "SELECT 1 FROM jobs WHERE account = ?1 AND parent = ?2 AND parent != '' LIMIT 1");
  return left.Bind(row.account, row.name + "/").Next();
}

// An index that has everything by which jobs are selected, and in which they are in order.
const char* IndexOf(const JobQuery& query) {
  if (query.parent) return "jobs_of_parent";
  switch (query.sort) {
    case JobQuery::kName:
      return "jobs_named";
    case JobQuery::kStatus:
      return "jobs_by_status";
    default:
      return "jobs_listed";
  }
}

// The column by which jobs are sorted, before their name.
const char* ColumnOf(JobQuery::Sort sort) {
  switch (sort) {
    case JobQuery::kName:
      return "name";
    case JobQuery::kStatus:
      return "status";
    case JobQuery::kObjective:
      return "objective";
    default:
      return "created_us";
  }
}

std::string OrderOf(const JobQuery& query) {
  const char* direction = query.descending ? "DESC" : "ASC";
  if (query.sort == JobQuery::kName) return fmt::format("name {}", direction);
  return fmt::format("{0} {1}, name {1}", ColumnOf(query.sort), direction);
}

// Where a page begins, found by the index that has the order: a late page costs what the first one does.
std::string BeginOf(const JobQuery& query) {
  if (!query.after) return "";
  const char* beyond = query.descending ? "<" : ">";
  if (query.sort == JobQuery::kName) return fmt::format("AND name {} ?12", beyond);
  return fmt::format("AND ({}, name) {} (?11, ?12)", ColumnOf(query.sort), beyond);
}

}  // namespace

std::string ArnOf(const SagemakerJob& row) {
  std::string name = row.name;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return fmt::format("arn:aws:sagemaker:{}:{}:{}/{}", row.region, row.account,
                     row.kind == SagemakerJob::kTuning ? "hyper-parameter-tuning-job" : "training-job", name);
}

std::vector<std::string> SagemakerJob::winnow_jobs() const {
  return absl::StrSplit(winnow_job, ' ', absl::SkipEmpty());
}

absl::StatusOr<std::unique_ptr<SagemakerJobs>> SagemakerJobs::Open(const std::filesystem::path& file) {
  absl::StatusOr<std::unique_ptr<Database>> database = Database::Open(file, OpenMode::kReadWrite);
  if (!database.ok()) return database.status();
  for (const char* text : {kSchema, kRemoveOldKeys}) {
    if (absl::Status status = (*database)->Execute(text); !status.ok()) return status;
  }
  return std::unique_ptr<SagemakerJobs>(new SagemakerJobs(*std::move(database)));
}

absl::Status SagemakerJobs::Insert(SagemakerJob& row, const std::map<std::string, std::string>& tags,
                                   const std::string& arn) {
  MutexLock lock(mutex_);
  absl::StatusOr<std::unique_ptr<Transaction>> transaction = Transaction::Begin(*database_);
  if (!transaction.ok()) return transaction.status();
  absl::Status status;
  if (row.kind == SagemakerJob::kTuning) {
    const absl::StatusOr<bool> left = SetAside(*database_, row);
    if (!left.ok()) return left.status();
    row.trial = *left ? row.created_us : 0;
  }
  status = InsertRow(*database_, row, "");
  if (status.ok()) status = SetTagsLocked(row.account, arn, tags);
  return status.ok() ? (*transaction)->Commit() : status;
}

absl::StatusOr<std::optional<SagemakerJob>> SagemakerJobs::Find(const std::string& account,
                                                                SagemakerJob::Kind kind,
                                                                const std::string& name) {
  MutexLock lock(mutex_);
  Statement find(*database_,
                 fmt::format("SELECT {} FROM jobs WHERE account = ?1 AND kind = ?2 AND name = ?3", kColumns));
  const absl::StatusOr<bool> found = find.Bind(account, static_cast<int64_t>(kind), name).Next();
  if (!found.ok()) return found.status();
  return *found ? std::optional<SagemakerJob>(RowOf(find)) : std::nullopt;
}

absl::Status SagemakerJobs::Write(const std::vector<SagemakerJob>& rows) {
  if (rows.empty()) return absl::OkStatus();
  MutexLock lock(mutex_);
  absl::StatusOr<std::unique_ptr<Transaction>> transaction = Transaction::Begin(*database_);
  if (!transaction.ok()) return transaction.status();
  for (const SagemakerJob& row : rows) {
    absl::Status status = row.parent.empty() ? absl::OkStatus() : InheritTags(*database_, row);
    if (!status.ok()) return status;
    status = InsertRow(
        *database_, row,
        "ON CONFLICT (account, kind, name) DO UPDATE SET winnow_job = excluded.winnow_job, status = CASE "
        "WHEN "
        "jobs.status = 'Stopping' AND excluded.status = 'InProgress' THEN jobs.status ELSE excluded.status "
        "END, "
        "secondary = CASE WHEN jobs.status = 'Stopping' AND excluded.status = 'InProgress' THEN "
        "jobs.secondary ELSE "
        "excluded.secondary END, started_us = excluded.started_us, ended_us = "
        "excluded.ended_us, modified_us = excluded.modified_us, objective = excluded.objective, result = "
        "excluded.result WHERE jobs.status IN ('InProgress', 'Stopping') OR excluded.status NOT IN "
        "('InProgress', 'Stopping')");
    if (!status.ok()) return status;
  }
  const bool ended = std::any_of(rows.begin(), rows.end(),
                                 [](const SagemakerJob& row) { return row.parent.empty() && row.ended(); });
  const absl::Status status = ended ? database_->Execute(kRemoveOldKeys) : absl::OkStatus();
  return status.ok() ? (*transaction)->Commit() : status;
}

absl::Status SagemakerJobs::MarkStopping(const SagemakerJob& row, int64_t now_us) {
  MutexLock lock(mutex_);
  Statement mark(
      *database_,
      "UPDATE jobs SET status = 'Stopping', secondary = CASE secondary WHEN '' THEN '' ELSE 'Stopping' END, "
      "modified_us = ?4 WHERE account = ?1 AND kind = ?2 AND name = ?3 AND status = 'InProgress'");
  return mark.Bind(row.account, static_cast<int64_t>(row.kind), row.name, now_us).Run();
}

absl::Status SagemakerJobs::Delete(const SagemakerJob& row, const std::string& arn) {
  MutexLock lock(mutex_);
  absl::StatusOr<std::unique_ptr<Transaction>> transaction = Transaction::Begin(*database_);
  if (!transaction.ok()) return transaction.status();
  Statement job(*database_, "DELETE FROM jobs WHERE account = ?1 AND kind = ?2 AND name = ?3");
  Statement tags(*database_, "DELETE FROM tags WHERE account = ?1 AND arn = ?2");
  absl::Status status;
  if (row.kind == SagemakerJob::kTuning) {
    // Its training jobs stay, and are described from its request.
    Statement children(*database_, "UPDATE jobs SET request = ?3 WHERE account = ?1 AND parent = ?2");
    status = children.Bind(row.account, row.name, row.request).Run();
    if (!status.ok()) return status;
  }
  status = job.Bind(row.account, static_cast<int64_t>(row.kind), row.name).Run();
  if (status.ok()) status = tags.Bind(row.account, arn).Run();
  if (status.ok()) status = database_->Execute(kRemoveOldKeys);
  return status.ok() ? (*transaction)->Commit() : status;
}

absl::StatusOr<std::vector<SagemakerJob>> SagemakerJobs::Unfinished() {
  MutexLock lock(mutex_);
  std::vector<SagemakerJob> rows;
  Statement all(*database_,
                fmt::format("SELECT {} FROM jobs WHERE status IN ('InProgress', 'Stopping') AND parent = ''",
                            kColumns));
  const absl::Status status = all.Bind().ForEach([&] {
    rows.push_back(RowOf(all));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return rows;
}

absl::StatusOr<std::vector<SagemakerJob>> SagemakerJobs::List(const JobQuery& query) {
  MutexLock lock(mutex_);
  std::vector<SagemakerJob> rows;
  Statement all(
      *database_,
      fmt::format(
          "SELECT {0} FROM jobs JOIN (SELECT rowid AS id FROM jobs INDEXED BY {1} WHERE account = ?1 AND "
          "kind = ?2 AND {2} AND (?4 = '' OR instr(lower(name), lower(?4)) > 0) AND (?5 = '' OR status = ?5) "
          "AND created_us >= ?6 AND created_us <= ?7 AND modified_us >= ?8 AND modified_us <= ?9 {3} {4} "
          "ORDER BY {5} LIMIT ?10) ON jobs.rowid = id ORDER BY {5}",
          kColumns, IndexOf(query), query.parent ? "parent = ?3 AND parent != ''" : "?3 IS NULL",
          query.sort == JobQuery::kObjective ? "AND objective IS NOT NULL" : "", BeginOf(query),
          OrderOf(query)));
  std::vector<ColumnValue> values = {query.account,
                                     static_cast<int64_t>(query.kind),
                                     query.parent ? ColumnValue(*query.parent) : ColumnValue(nullptr),
                                     query.name_contains,
                                     query.status,
                                     query.created_after_us,
                                     query.created_before_us,
                                     query.modified_after_us,
                                     query.modified_before_us,
                                     query.most};
  if (query.after) values.insert(values.end(), {query.after->value, query.after->name});
  const absl::Status status = all.BindAll(values).ForEach([&] {
    rows.push_back(RowOf(all));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return rows;
}

absl::StatusOr<std::map<std::string, StatusCounts>> SagemakerJobs::CountChildren(
    const std::string& account, const std::vector<std::string>& parents) {
  MutexLock lock(mutex_);
  std::map<std::string, StatusCounts> counts;
  Statement all(*database_,
                "SELECT parent, status, COUNT(*), COUNT(objective) FROM jobs INDEXED BY jobs_of_parent WHERE "
                "account = ?1 AND parent IN (SELECT value FROM json_each(?2)) AND parent != '' GROUP BY "
                "parent, status");
  const absl::Status status = all.Bind(account, nlohmann::json(parents).dump()).ForEach([&] {
    StatusCounts& own = counts[all.Text(0)];
    own[all.Text(1)] = all.Int(2);
    own[all.Text(1) + "+objective"] = all.Int(3);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return counts;
}

absl::StatusOr<std::map<std::string, std::string>> SagemakerJobs::Tags(const std::string& account,
                                                                       const std::string& arn) {
  MutexLock lock(mutex_);
  std::map<std::string, std::string> tags;
  Statement all(*database_, "SELECT key, value FROM tags WHERE account = ?1 AND arn = ?2");
  const absl::Status status = all.Bind(account, arn).ForEach([&] {
    tags[all.Text(0)] = all.Text(1);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return tags;
}

absl::Status SagemakerJobs::SetTagsLocked(const std::string& account, const std::string& arn,
                                          const std::map<std::string, std::string>& tags) {
  for (const auto& [key, value] : tags) {
    Statement insert(*database_, "INSERT OR REPLACE INTO tags VALUES (?1, ?2, ?3, ?4)");
    if (absl::Status status = insert.Bind(account, arn, key, value).Run(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status SagemakerJobs::SetTags(const std::string& account, const std::string& arn,
                                    const std::map<std::string, std::string>& tags) {
  MutexLock lock(mutex_);
  absl::StatusOr<std::unique_ptr<Transaction>> transaction = Transaction::Begin(*database_);
  if (!transaction.ok()) return transaction.status();
  const absl::Status status = SetTagsLocked(account, arn, tags);
  return status.ok() ? (*transaction)->Commit() : status;
}

absl::Status SagemakerJobs::RemoveTags(const std::string& account, const std::string& arn,
                                       const std::vector<std::string>& keys) {
  MutexLock lock(mutex_);
  absl::StatusOr<std::unique_ptr<Transaction>> transaction = Transaction::Begin(*database_);
  if (!transaction.ok()) return transaction.status();
  for (const std::string& key : keys) {
    Statement remove(*database_, "DELETE FROM tags WHERE account = ?1 AND arn = ?2 AND key = ?3");
    if (absl::Status status = remove.Bind(account, arn, key).Run(); !status.ok()) return status;
  }
  return (*transaction)->Commit();
}

absl::Status SagemakerJobs::AddJobKey(const std::string& id, const std::string& secret,
                                      const SagemakerJob& row) {
  MutexLock lock(mutex_);
  Statement insert(*database_, "INSERT INTO keys_of_jobs VALUES (?1, ?2, ?3, ?4, ?5)");
  return insert.Bind(id, secret, row.account, static_cast<int64_t>(row.kind), row.name).Run();
}

absl::StatusOr<std::optional<SagemakerJobs::JobKey>> SagemakerJobs::FindJobKey(const std::string& id) {
  MutexLock lock(mutex_);
  Statement find(*database_, "SELECT secret, account FROM keys_of_jobs WHERE id = ?1");
  const absl::StatusOr<bool> found = find.Bind(id).Next();
  if (!found.ok()) return found.status();
  return *found ? std::optional<JobKey>({find.Text(0), find.Text(1)}) : std::nullopt;
}

}  // namespace winnow
