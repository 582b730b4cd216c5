#include "store/tables/projects.h"

#include <fmt/format.h>

namespace winnow {

ProjectTable::ProjectTable(Database& database)
    : database_(database),
      insert_(database, "INSERT INTO projects (name, create_us) VALUES (?1, ?2)"),
      delete_(database, "DELETE FROM projects WHERE name = ?1"),
      list_(database, "SELECT name, create_us FROM projects ORDER BY name"),
      put_member_(database, "INSERT OR REPLACE INTO members (project, person, leads) VALUES (?1, ?2, ?3)"),
      delete_member_(database, "DELETE FROM members WHERE project = ?1 AND person = ?2"),
      members_(database, "SELECT project, person, leads FROM members ORDER BY project, person"),
      count_jobs_(database, "SELECT COUNT(*) FROM jobs WHERE project = ?1 AND deleted_us = 0") {}

absl::Status ProjectTable::Insert(const ProjectRow& row) {
  const absl::Status status = insert_.Bind(row.name, row.create_us).Run();
  if (!absl::IsAlreadyExists(status)) return status;
  return absl::AlreadyExistsError(fmt::format("there is a project \"{}\" already", row.name));
}

absl::StatusOr<bool> ProjectTable::Delete(const std::string& name) {
  const absl::Status status = delete_.Bind(name).Run();
  if (!status.ok()) return status;
  return database_.changes() > 0;
}

absl::StatusOr<std::vector<ProjectRow>> ProjectTable::List() {
  std::vector<ProjectRow> rows;
  const absl::Status status = list_.Bind().ForEach([&] {
    rows.push_back({list_.Text(0), list_.Int(1)});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return rows;
}

absl::StatusOr<std::optional<ProjectRow>> ProjectTable::Find(const std::string& name) {
  absl::StatusOr<std::vector<ProjectRow>> rows = List();
  if (!rows.ok()) return rows.status();
  for (ProjectRow& row : *rows) {
    if (row.name == name) return std::move(row);
  }
  return std::nullopt;
}

absl::Status ProjectTable::PutMember(const MemberRow& row) {
  return put_member_.Bind(row.project, row.person, row.leads).Run();
}

absl::StatusOr<bool> ProjectTable::DeleteMember(const std::string& project, const std::string& person) {
  const absl::Status status = delete_member_.Bind(project, person).Run();
  if (!status.ok()) return status;
  return database_.changes() > 0;
}

absl::StatusOr<std::vector<MemberRow>> ProjectTable::Members() {
  std::vector<MemberRow> rows;
  const absl::Status status = members_.Bind().ForEach([&] {
    rows.push_back({members_.Text(0), members_.Text(1), members_.Int(2) != 0});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return rows;
}

absl::StatusOr<int64_t> ProjectTable::CountJobs(const std::string& project) {
  int64_t count = 0;
  const absl::Status status = count_jobs_.Bind(project).ForEach([&] {
    count = count_jobs_.Int(0);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return count;
}

}  // namespace winnow
