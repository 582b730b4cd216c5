#include "store/move.h"

#include <fmt/format.h>

#include <bit>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "absl/strings/str_replace.h"
#include "store/database/postgres_database.h"
#include "store/jobs.h"

namespace winnow {
namespace {

// Rows that are read at a time.
constexpr int64_t kPage = 5'000;

// A number for a table's rows in their order.
class RowsDigest {
 public:
  void Add(const ColumnValue& value) {
    Mix(value.index());
    if (const auto* number = std::get_if<int64_t>(&value)) {
      Mix(static_cast<uint64_t>(*number));
    } else if (const auto* real = std::get_if<double>(&value)) {
      Mix(std::bit_cast<uint64_t>(*real + 0.0));  // SQLite stores -0.0 as 0.0, PostgreSQL as it is
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      Mix(std::hash<std::string>()(*text));
    } else if (const auto* blob = std::get_if<Blob>(&value)) {
      Mix(std::hash<std::string>()(blob->bytes));
    }
  }
  uint64_t value() const { return value_; }

 private:
  void Mix(uint64_t value) {
    value_ = (value_ ^ value) * 0x9e3779b97f4a7c15;
    value_ ^= value_ >> 29;
  }
  uint64_t value_ = 0;
};

using TakeRow = std::function<absl::Status(std::vector<ColumnValue>&)>;

std::string ListOf(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string Parameters(size_t count) {
  std::string list;
  for (size_t i = 1; i <= count; ++i) list += fmt::format("{}?{}", i == 1 ? "" : ", ", i);
  return list;
}

std::vector<std::string> KeyOf(const MovedTable& table) {
  std::vector<std::string> names;
  std::string_view rest = table.key;
  while (true) {
    const size_t comma = rest.find(", ");
    names.emplace_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) return names;
    rest.remove_prefix(comma + 2);
  }
}

// Calls `take` for each row for which `condition` holds, in the order of the key, a page at a time.
absl::Status ForEachRow(Database& database, const MovedTable& table, const std::vector<std::string>& columns,
                        const std::string& condition, const TakeRow& take) {
  const std::vector<std::string> key = KeyOf(table);
  const std::string all =
      fmt::format("SELECT {}, {} FROM {} WHERE {}", ListOf(columns), table.key, table.name, condition);
  const std::string order = fmt::format(" ORDER BY {} LIMIT {}", table.key, kPage);
  Statement first(database, all + order);
  Statement next(database,
                 fmt::format("{} AND ({}) > ({}){}", all, table.key, Parameters(key.size()), order));
  std::vector<ColumnValue> last;
  for (Statement* page = &first;; page = &next) {
    int64_t rows = 0;
    absl::Status status = page->BindAll(last).ForEach([&] {
      std::vector<ColumnValue> row;
      for (size_t i = 0; i < columns.size(); ++i) row.push_back(page->Get(static_cast<int>(i)));
      last.clear();
      for (size_t i = 0; i < key.size(); ++i) last.push_back(page->Get(static_cast<int>(columns.size() + i)));
      ++rows;
      return take(row);
    });
    if (!status.ok() || rows < kPage) return status;
  }
}

constexpr char kEveryRow[] = "1 = 1";
constexpr char kDescriptions[] = "job_descriptions";

// Messages that files of earlier versions have as text, which is not stored as it is everywhere.
void MakeBytes(std::vector<ColumnValue>& row) {
  for (ColumnValue& value : row) {
    if (auto* text = std::get_if<std::string>(&value)) value = Blob{std::move(*text)};
  }
}

// Texts become what the database can store; that is what is compared with what is in it.
void MakeStorable(std::vector<ColumnValue>& row) {
  for (ColumnValue& value : row) {
    if (auto* text = std::get_if<std::string>(&value)) *text = PostgresText(*text);
  }
}

// `change`: null for none.
absl::StatusOr<int64_t> MoveTable(Database& from, Database& to, const MovedTable& table,
                                  const std::string& condition, const ChangeValue& change) {
  absl::StatusOr<std::vector<std::string>> columns = from.Columns(table.name);
  if (!columns.ok()) return columns.status();
  Statement insert(to, fmt::format("INSERT INTO {} ({}) VALUES ({})", table.name, ListOf(*columns),
                                   Parameters(columns->size())));
  const bool to_postgres = dynamic_cast<PostgresDatabase*>(&to) != nullptr;
  RowsDigest read, written;
  int64_t rows = 0, found = 0;
  absl::Status status = ForEachRow(from, table, *columns, condition, [&](std::vector<ColumnValue>& row) {
    ++rows;
    for (size_t i = 0; change && i < row.size(); ++i) {
      if (absl::Status changed = change(table.name, (*columns)[i], row[i]); !changed.ok()) return changed;
    }
    if (std::string_view(table.name) == kDescriptions) MakeBytes(row);
    if (to_postgres) MakeStorable(row);
    for (const ColumnValue& value : row) read.Add(value);
    return insert.BindAll(row).RunLater();
  });
  if (!status.ok()) return status;
  status = ForEachRow(to, table, *columns, kEveryRow, [&](std::vector<ColumnValue>& row) {
    ++found;
    for (const ColumnValue& value : row) written.Add(value);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  if (found == rows && read.value() == written.value()) return rows;
  return absl::DataLossError(
      fmt::format("table {}: {} rows were read from {}, and {} others or not the same are in {}", table.name,
                  rows, from.file(), found, to.file()));
}

// Conditions of MovedTable::of_jobs.
constexpr char kOfJob[] = "job IN ({jobs})";
constexpr char kOfAssignment[] = "assignment IN (SELECT assignment FROM assignments WHERE job IN ({jobs}))";
constexpr char kNamesOfWorkers[] =
    "name IN (SELECT w.name FROM workers w JOIN assignments a ON a.worker = w.worker WHERE a.job IN "
    "({jobs}))";
// From the step in which the first one was created to the end of the last one.
constexpr char kWhileJobsRan[] =
    "worker IN (SELECT u.worker FROM usage_workers u JOIN workers w ON w.name = u.name"
    " JOIN assignments a ON a.worker = w.worker WHERE a.job IN ({jobs}))"
    " AND start_s + step > (SELECT MIN(create_us) / 1000000 FROM jobs WHERE job IN ({jobs}))"
    " AND start_s <= (SELECT MAX(end_us) / 1000000 FROM jobs WHERE job IN ({jobs}))";

// The tables whose rows are numbered for good: a number is not used again, also after its row was deleted.
constexpr struct {
  const char* name;
  const char* key;
} kNumbered[] = {{"jobs", "job"},           {"assignments", "assignment"},
                 {"artifacts", "artifact"}, {"usage_workers", "worker"},
                 {"allocations", "number"}, {"audit", "sequence"},
                 {"deliveries", "number"}};

absl::StatusOr<int64_t> MoveAll(Database& from, Database& to) {
  absl::Status status = to.Execute("DELETE FROM identity");
  if (!status.ok()) return status;
  int64_t rows = 0;
  for (const MovedTable& table : MovedTables()) {
    absl::StatusOr<int64_t> moved = MoveTable(from, to, table, kEveryRow, nullptr);
    if (!moved.ok()) return moved.status();
    rows += *moved;
  }
  for (const auto& table : kNumbered) {
    absl::StatusOr<int64_t> highest = from.HighestKey(table.name, table.key);
    if (!highest.ok()) return highest.status();
    status = to.SetHighestKey(table.name, table.key, *highest);
    if (!status.ok()) return status;
  }
  return rows;
}

// The keys of the jobs, which have ended, with commas between them.
absl::StatusOr<std::string> KeysOf(Database& database, const std::vector<std::string>& ids) {
  JobTable jobs(database);
  std::set<int64_t> keys;
  for (const std::string& id : ids) {
    const absl::StatusOr<std::optional<JobRow>> job = jobs.Find(id);
    if (!job.ok()) return job.status();
    if (!*job) return absl::NotFoundError(fmt::format("there is no job \"{}\" in {}", id, database.file()));
    if ((*job)->end_us == 0) {
      return absl::FailedPreconditionError(
          fmt::format("job \"{}\" is {}; expected a job that has ended", id, (*job)->state));
    }
    keys.insert((*job)->key);
  }
  return fmt::format("{}", fmt::join(keys, ", "));
}

// FAILED_PRECONDITION unless nothing was ever recorded in it.
absl::Status CheckEmpty(Database& database) {
  for (const char* table :
       {"taken_ids", "workers", "tokens", "persons", "projects", "quotas", "allocations"}) {
    absl::StatusOr<int64_t> there = database.QueryInt(fmt::format("SELECT COUNT(*) FROM {}", table));
    if (!there.ok()) return there.status();
    if (*there > 0) {
      return absl::FailedPreconditionError(fmt::format(
          "{} is not empty: its table {} has {} rows; name a new database", database.file(), table, *there));
    }
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<MovedTable>& MovedTables() {
  static const std::vector<MovedTable> kTables = {
      {"identity", "id"},
      {"taken_ids", "id", "id IN (SELECT id FROM jobs WHERE job IN ({jobs}))"},
      {"projects", "name", "name IN (SELECT project FROM jobs WHERE job IN ({jobs}))"},
      {"members", "project, person"},
      {"quotas", "project, person"},
      {"project_use", "project, person"},
      {"jobs", "job", kOfJob},
      {"events", "job, sequence", kOfJob},
      {"reports", "job, trial, attempt, resource, metric", kOfJob},
      {"trials", "job, trial", kOfJob},
      {"workers", "worker", "worker IN (SELECT worker FROM assignments WHERE job IN ({jobs}))"},
      {"assignments", "assignment", kOfJob},
      {"logs", "assignment, stream, offset", kOfAssignment},
      {"worker_marks", "name"},
      {"blobs", "digest"},
      {"artifacts", "artifact"},
      {"artifact_blobs", "artifact, digest"},
      {"tokens", "id"},
      {"persons", "issuer, subject"},
      {"sign_in_tokens", "token"},
      {"usage_workers", "worker", kNamesOfWorkers},
      {"worker_usage", "step, start_s, worker", kWhileJobsRan},
      {"assignment_usage", "assignment, second", kOfAssignment},
      {"best_steps", "job, sequence", kOfJob},
      {kDescriptions, "job", kOfJob},
      {"annotations", "job, trial", kOfJob},
      {"change_requests", "job, request_id", kOfJob},
      {"job_words", "job", kOfJob},
      {"allocations", "number"},
      {"audit", "sequence"},
      {"deliveries", "number"},
  };
  return kTables;
}

absl::StatusOr<int64_t> MoveRows(Database& from, Database& to) {
  if (absl::Status empty = CheckEmpty(to); !empty.ok()) return empty;
  absl::StatusOr<std::unique_ptr<Transaction>> reading = Transaction::BeginRead(from);
  if (!reading.ok()) return reading.status();
  absl::StatusOr<std::unique_ptr<Transaction>> writing = Transaction::Begin(to);
  if (!writing.ok()) return writing.status();
  absl::StatusOr<int64_t> rows = MoveAll(from, to);
  if (!rows.ok()) return rows.status();
  absl::Status status = (*writing)->Commit();
  if (!status.ok()) return status;
  return rows;
}

absl::StatusOr<int64_t> MoveJobs(Database& from, Database& to, const std::vector<std::string>& ids,
                                 const ChangeValue& change) {
  if (absl::Status empty = CheckEmpty(to); !empty.ok()) return empty;
  absl::StatusOr<std::unique_ptr<Transaction>> reading = Transaction::BeginRead(from);
  if (!reading.ok()) return reading.status();
  const absl::StatusOr<std::string> keys = KeysOf(from, ids);
  if (!keys.ok()) return keys.status();
  absl::StatusOr<std::unique_ptr<Transaction>> writing = Transaction::Begin(to);
  if (!writing.ok()) return writing.status();
  int64_t rows = 0;
  for (const MovedTable& table : MovedTables()) {
    if (table.of_jobs == nullptr) continue;
    const std::string condition = absl::StrReplaceAll(table.of_jobs, {{"{jobs}", *keys}});
    absl::StatusOr<int64_t> moved = MoveTable(from, to, table, condition, change);
    if (!moved.ok()) return moved.status();
    rows += *moved;
  }
  if (absl::Status status = (*writing)->Commit(); !status.ok()) return status;
  return rows;
}

}  // namespace winnow
