#include "store/tables/quotas.h"

namespace winnow {

QuotaTable::QuotaTable(Database& database)
    : put_(database,
           "INSERT OR REPLACE INTO quotas (project, person, slots, gpus, node_hours, running_jobs, weight, "
           "job_class, storage_gib, told_month_us, told_storage) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
           "?10, ?11)"),
      put_use_(database,
               "INSERT OR REPLACE INTO project_use (project, person, until_us, slot_seconds, month_us, "
               "node_us) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"),
      list_(database,
            "SELECT project, person, slots, gpus, node_hours, running_jobs, weight, job_class, storage_gib, "
            "told_month_us, told_storage FROM quotas ORDER BY project, person"),
      uses_(database,
            "SELECT project, person, until_us, slot_seconds, month_us, node_us FROM project_use "
            "ORDER BY project, person"),
      delete_(database, "DELETE FROM quotas WHERE project = ?1"),
      delete_uses_(database, "DELETE FROM project_use WHERE project = ?1") {}

absl::Status QuotaTable::Put(const QuotaRow& row) {
  const Quota& quota = row.quota;
  return put_
      .Bind(row.project, row.person, quota.slots, quota.gpus, quota.node_hours, quota.running_jobs,
            row.weight, row.job_class, quota.storage_gib, row.told_month_us, row.told_storage)
      .Run();
}

absl::Status QuotaTable::PutUse(const ProjectUseRow& row) {
  const ProjectUse& use = row.use;
  return put_use_.Bind(row.project, row.person, use.until_us, use.slot_seconds, use.month_us, use.node_us)
      .Run();
}

absl::StatusOr<std::vector<QuotaRow>> QuotaTable::List() {
  std::vector<QuotaRow> rows;
  const absl::Status status = list_.Bind().ForEach([&] {
    QuotaRow& row = rows.emplace_back();
    row.project = list_.Text(0);
    row.person = list_.Text(1);
    row.quota = {list_.Int(2), list_.Real(3), list_.Real(4), list_.Int(5), list_.Real(8)};
    row.weight = list_.Real(6);
    row.job_class = static_cast<int32_t>(list_.Int(7));
    row.told_month_us = list_.Int(9);
    row.told_storage = list_.Int(10) != 0;
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return rows;
}

absl::StatusOr<std::vector<ProjectUseRow>> QuotaTable::Uses() {
  std::vector<ProjectUseRow> rows;
  const absl::Status status = uses_.Bind().ForEach([&] {
    rows.push_back({uses_.Text(0), uses_.Text(1), {uses_.Int(2), uses_.Real(3), uses_.Int(4), uses_.Int(5)}});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return rows;
}

absl::Status QuotaTable::Delete(const std::string& project) {
  const absl::Status status = delete_.Bind(project).Run();
  return status.ok() ? delete_uses_.Bind(project).Run() : status;
}

}  // namespace winnow
