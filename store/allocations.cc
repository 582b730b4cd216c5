#include "store/allocations.h"

#include <fmt/format.h>

#include "store/enum_text.h"
#include "store/text_list.h"

namespace winnow {
namespace {

constexpr const char* kAllocationStates[] = {"planned", "queued", "running", "ended"};
constexpr EnumTexts<AllocationState, 4> kAllocationStateTexts("allocations.state", kAllocationStates);

constexpr char kAllocationColumns[] =
    "number, pool, name, nodes, state, engine_id, reason, hosts, token, cancel, failed, workers,"
    " cost_per_node_hour, create_us, start_us, end_us";

}  // namespace

AllocationTable::AllocationTable(Database& database)
    : database_(database),
      insert_(database,
              "INSERT INTO allocations (pool, name, nodes, state, engine_id, reason, hosts, token, cancel, "
              "failed,"
              " workers, cost_per_node_hour, create_us, start_us, end_us)"
              " VALUES (?1, '', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"),
      rename_(database, "UPDATE allocations SET name = ?2 WHERE number = ?1"),
      update_(database,
              "UPDATE allocations SET state = ?2, engine_id = ?3, reason = ?4, hosts = ?5, token = ?6, "
              "cancel = ?7,"
              " failed = ?8, workers = ?9, start_us = ?10, end_us = ?11 WHERE number = ?1"),
      open_(database, fmt::format("SELECT {} FROM allocations WHERE state <> 'ended' ORDER BY number",
                                  kAllocationColumns)),
      newest_(database, fmt::format("SELECT {} FROM allocations WHERE pool = ?1 AND state = 'ended'"
                                    " ORDER BY number DESC LIMIT ?2",
                                    kAllocationColumns)),
      sums_(database,
            "SELECT pool, CAST(SUM(nodes * (end_us - start_us)) AS REAL),"
            " SUM(nodes * (end_us - start_us) / 3.6e9 * cost_per_node_hour)"
            " FROM allocations WHERE state = 'ended' AND start_us > 0 GROUP BY pool ORDER BY pool"),
      remove_tokens_(database,
                     "DELETE FROM tokens WHERE revoke_us > 0 AND revoke_us < ?1"
                     " AND id IN (SELECT token FROM allocations WHERE token <> '')") {}

absl::Status AllocationTable::Insert(const std::string& prefix, AllocationRow& row) {
  absl::Status status =
      insert_
          .Bind(row.pool, row.nodes, kAllocationStateTexts.Text(row.state), row.engine_id, row.reason,
                JsonOfTexts(row.hosts), row.token, row.cancel, row.failed, row.workers,
                row.cost_per_node_hour, row.create_us, row.start_us, row.end_us)
          .Run();
  if (!status.ok()) return status;
  absl::StatusOr<int64_t> number = database_.LastInsertKey();
  if (!number.ok()) return number.status();
  row.number = *number;
  row.name = fmt::format("{}-{}", prefix, row.number);
  return rename_.Bind(row.number, row.name).Run();
}

absl::Status AllocationTable::Update(const AllocationRow& row) {
  return update_
      .Bind(row.number, kAllocationStateTexts.Text(row.state), row.engine_id, row.reason,
            JsonOfTexts(row.hosts), row.token, row.cancel, row.failed, row.workers, row.start_us, row.end_us)
      .Run();
}

absl::StatusOr<std::vector<AllocationRow>> AllocationTable::All(Statement& s) {
  std::vector<AllocationRow> rows;
  absl::Status status = s.ForEach([&] {
    AllocationRow row;
    absl::Status read = kAllocationStateTexts.Read(s.Text(4), row.state);
    if (!read.ok()) return read;
    row.number = s.Int(0);
    row.pool = s.Text(1);
    row.name = s.Text(2);
    row.nodes = static_cast<int32_t>(s.Int(3));
    row.engine_id = s.Text(5);
    row.reason = s.Text(6);
    row.hosts = TextsFromJson(s.Text(7));
    row.token = s.Text(8);
    row.cancel = s.Text(9);
    row.failed = s.Int(10) != 0;
    row.workers = static_cast<int32_t>(s.Int(11));
    row.cost_per_node_hour = s.Real(12);
    row.create_us = s.Int(13);
    row.start_us = s.Int(14);
    row.end_us = s.Int(15);
    rows.push_back(std::move(row));
    return read;
  });
  if (!status.ok()) return status;
  return rows;
}

absl::StatusOr<std::vector<AllocationRow>> AllocationTable::Open() { return All(open_.Bind()); }

absl::StatusOr<std::vector<AllocationRow>> AllocationTable::NewestEnded(const std::string& pool,
                                                                        int64_t most) {
  return All(newest_.Bind(pool, most));
}

absl::Status AllocationTable::RemoveTokensBefore(int64_t time_us) {
  return remove_tokens_.Bind(time_us).Run();
}

absl::StatusOr<std::vector<AllocationSum>> AllocationTable::Sums() {
  std::vector<AllocationSum> sums;
  Statement& s = sums_.Bind();
  absl::Status status = s.ForEach([&] {
    sums.push_back({s.Text(0), s.Real(1), s.Real(2)});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return sums;
}

}  // namespace winnow
