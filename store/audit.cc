#include "store/audit.h"

#include <fmt/format.h>

namespace winnow {

AuditTable::AuditTable(Database& database)
    : database_(database),
      insert_(database,
              "INSERT INTO audit (time_us, person, token, address, method, job, trial, subject, detail, "
              "outcome) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"),
      remove_(database,
              "DELETE FROM audit WHERE sequence IN"
              " (SELECT sequence FROM audit WHERE time_us < ?1 ORDER BY time_us LIMIT ?2)") {}

absl::Status AuditTable::Add(const AuditRow& row) {
  return insert_
      .Bind(row.time_us, row.person, row.token, row.address, row.method, row.job, row.trial, row.subject,
            row.detail, row.outcome)
      .RunLater();
}

absl::StatusOr<std::vector<AuditRow>> AuditTable::List(const AuditFilter& filter, int64_t before,
                                                       int64_t limit) {
  // Only the conditions that are asked for, so that each can use its index.
  std::string where = "sequence < ?1";
  std::vector<ColumnValue> values = {before, limit};
  const auto require = [&](const char* condition, ColumnValue value) {
    values.push_back(std::move(value));
    where += fmt::format(" AND {} ?{}", condition, values.size());
  };
  if (!filter.person.empty()) require("person =", filter.person);
  if (!filter.job.empty()) require("job =", filter.job);
  if (!filter.method.empty()) require("method =", filter.method);
  if (filter.since_us > 0) require("time_us >=", filter.since_us);
  Statement list(database_,
                 fmt::format("SELECT sequence, time_us, person, token, address, method, job, trial, subject, "
                             "detail, outcome FROM audit WHERE {} ORDER BY sequence DESC LIMIT ?2",
                             where));
  std::vector<AuditRow> rows;
  const absl::Status status = list.BindAll(values).ForEach([&] {
    rows.push_back({list.Int(0), list.Int(1), list.Text(2), list.Text(3), list.Text(4), list.Text(5),
                    list.Text(6), list.Int(7), list.Text(8), list.Text(9), list.Text(10)});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return rows;
}

absl::StatusOr<int64_t> AuditTable::RemoveBefore(int64_t time_us, int64_t limit) {
  const absl::Status status = remove_.Bind(time_us, limit).Run();
  if (!status.ok()) return status;
  return database_.changes();
}

}  // namespace winnow
