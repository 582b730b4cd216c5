#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "store/database/database.h"

namespace winnow {

struct ProjectRow {
  std::string name;
  int64_t create_us = 0;

  bool operator==(const ProjectRow&) const = default;
};

// A person in a project.
struct MemberRow {
  std::string project;
  std::string person;
  bool leads = false;

  bool operator==(const MemberRow&) const = default;
};

// The projects that were declared. The default project, "", is not among them.
class ProjectTable {
 public:
  explicit ProjectTable(Database& database);

  // ALREADY_EXISTS names the project.
  absl::Status Insert(const ProjectRow& row);
  // With its members. Returns whether there was one.
  absl::StatusOr<bool> Delete(const std::string& name);
  // By name.
  absl::StatusOr<std::vector<ProjectRow>> List();
  // Absent: there is none.
  absl::StatusOr<std::optional<ProjectRow>> Find(const std::string& name);

  // REQUIRES the project is there.
  absl::Status PutMember(const MemberRow& row);
  // Returns whether they were one.
  absl::StatusOr<bool> DeleteMember(const std::string& project, const std::string& person);
  // Members of all projects, by project and person.
  absl::StatusOr<std::vector<MemberRow>> Members();

  // How many jobs it has.
  absl::StatusOr<int64_t> CountJobs(const std::string& project);

 private:
  Database& database_;
  Statement insert_, delete_, list_, put_member_, delete_member_, members_, count_jobs_;
};

}  // namespace winnow
