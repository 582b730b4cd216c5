#include "store/move.h"

#include <fmt/format.h>

#include <bit>
#include <functional>
#include <memory>
#include <optional>

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
      Mix(std::bit_cast<uint64_t>(*real));
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

using TakeRow = std::function<absl::Status(const std::vector<ColumnValue>&)>;

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

// Calls `take` for each row in the order of the key, a page at a time.
absl::Status ForEachRow(Database& database, const MovedTable& table, const std::vector<std::string>& columns,
                        const TakeRow& take) {
  const std::vector<std::string> key = KeyOf(table);
  const std::string all = fmt::format("SELECT {}, {} FROM {}", ListOf(columns), table.key, table.name);
  const std::string order = fmt::format(" ORDER BY {} LIMIT {}", table.key, kPage);
  Statement first(database, all + order);
  Statement next(database,
                 fmt::format("{} WHERE ({}) > ({}){}", all, table.key, Parameters(key.size()), order));
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

absl::StatusOr<int64_t> MoveTable(Database& from, Database& to, const MovedTable& table) {
  absl::StatusOr<std::vector<std::string>> columns = from.Columns(table.name);
  if (!columns.ok()) return columns.status();
  Statement insert(to, fmt::format("INSERT INTO {} ({}) VALUES ({})", table.name, ListOf(*columns),
                                   Parameters(columns->size())));
  RowsDigest read, written;
  int64_t rows = 0, found = 0;
  absl::Status status = ForEachRow(from, table, *columns, [&](const std::vector<ColumnValue>& row) {
    ++rows;
    for (const ColumnValue& value : row) read.Add(value);
    return insert.BindAll(row).RunLater();
  });
  if (!status.ok()) return status;
  status = ForEachRow(to, table, *columns, [&](const std::vector<ColumnValue>& row) {
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

// The tables whose rows are numbered for good: a number is not used again, also after its row was deleted.
constexpr MovedTable kNumbered[] = {{"jobs", "job"},           {"assignments", "assignment"},
                                    {"artifacts", "artifact"}, {"usage_workers", "worker"},
                                    {"allocations", "number"}, {"audit", "sequence"},
                                    {"deliveries", "number"}};

absl::StatusOr<int64_t> MoveAll(Database& from, Database& to) {
  absl::Status status = to.Execute("DELETE FROM identity");
  if (!status.ok()) return status;
  int64_t rows = 0;
  for (const MovedTable& table : MovedTables()) {
    absl::StatusOr<int64_t> moved = MoveTable(from, to, table);
    if (!moved.ok()) return moved.status();
    rows += *moved;
  }
  for (const MovedTable& table : kNumbered) {
    absl::StatusOr<int64_t> highest = from.HighestKey(table.name, table.key);
    if (!highest.ok()) return highest.status();
    status = to.SetHighestKey(table.name, table.key, *highest);
    if (!status.ok()) return status;
  }
  return rows;
}

}  // namespace

const std::vector<MovedTable>& MovedTables() {
  static const std::vector<MovedTable> kTables = {
      {"identity", "id"},
      {"taken_ids", "id"},
      {"projects", "name"},
      {"members", "project, person"},
      {"quotas", "project, person"},
      {"project_use", "project, person"},
      {"jobs", "job"},
      {"events", "job, sequence"},
      {"reports", "job, trial, attempt, resource, metric"},
      {"trials", "job, trial"},
      {"workers", "worker"},
      {"assignments", "assignment"},
      {"logs", "assignment, stream, offset"},
      {"worker_marks", "name"},
      {"blobs", "digest"},
      {"artifacts", "artifact"},
      {"artifact_blobs", "artifact, digest"},
      {"tokens", "id"},
      {"persons", "issuer, subject"},
      {"sign_in_tokens", "token"},
      {"usage_workers", "worker"},
      {"worker_usage", "step, start_s, worker"},
      {"assignment_usage", "assignment, second"},
      {"best_steps", "job, sequence"},
      {"job_descriptions", "job"},
      {"annotations", "job, trial"},
      {"job_words", "job"},
      {"allocations", "number"},
      {"audit", "sequence"},
      {"deliveries", "number"},
  };
  return kTables;
}

absl::StatusOr<int64_t> MoveRows(Database& from, Database& to) {
  for (const char* table :
       {"taken_ids", "workers", "tokens", "persons", "projects", "quotas", "allocations"}) {
    absl::StatusOr<int64_t> there = to.QueryInt(fmt::format("SELECT COUNT(*) FROM {}", table));
    if (!there.ok()) return there.status();
    if (*there > 0) {
      return absl::FailedPreconditionError(fmt::format(
          "{} is not empty: its table {} has {} rows; name a new database", to.file(), table, *there));
    }
  }
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

}  // namespace winnow
