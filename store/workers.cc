#include "store/workers.h"

namespace winnow {

WorkerTable::WorkerTable(Database& database)
    : put_(database,
           "INSERT INTO workers (worker, name, host, slots, storage_id, version, rendezvous_port, state,"
           " register_us, last_sync_us) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
           " ON CONFLICT (worker) DO UPDATE SET name = ?2, host = ?3, slots = ?4, storage_id = ?5,"
           " version = ?6, rendezvous_port = ?7, state = ?8, last_sync_us = ?10"),
      list_(database,
            "SELECT worker, name, host, slots, storage_id, version, rendezvous_port, state, register_us,"
            " last_sync_us FROM workers WHERE ?1 OR state IN ('live', 'leaving')"
            " ORDER BY register_us, worker") {}

absl::Status WorkerTable::Put(const WorkerRow& row) {
  return put_
      .Bind(row.id, row.name, row.host, row.slots, row.storage_id, row.version, row.rendezvous_port,
            row.state, row.register_us, row.last_sync_us)
      .Run();
}

absl::StatusOr<std::vector<WorkerRow>> WorkerTable::List(bool include_gone) {
  std::vector<WorkerRow> rows;
  Statement& s = list_.Bind(include_gone);
  absl::Status status = s.ForEach([&] {
    rows.push_back({s.Text(0), s.Text(1), s.Text(2), static_cast<int32_t>(s.Int(3)), s.Text(4), s.Text(5),
                    static_cast<int32_t>(s.Int(6)), s.Text(7), s.Int(8), s.Int(9)});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return rows;
}

}  // namespace winnow
