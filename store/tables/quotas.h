#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/project_use.h"
#include "scheduler/quota.h"
#include "store/database/database.h"

namespace winnow {

// What a project, or a person in one, may have.
struct QuotaRow {
  std::string project;  // "": the default one
  std::string person;   // "": the whole project
  Quota quota = {};
  // What the whole project has; of a person they do not count.
  double weight = 1;
  int32_t job_class = 0;
  // QUOTA_NEAR was sent about its node-hours in the month that starts then, and about its storage.
  int64_t told_month_us = 0;
  bool told_storage = false;

  bool operator==(const QuotaRow&) const = default;
};

// What they have used.
struct ProjectUseRow {
  std::string project;
  std::string person;
  ProjectUse use = {};

  bool operator==(const ProjectUseRow&) const = default;
};

// The quotas of projects and persons, and what they have used. The default project is among them.
class QuotaTable {
 public:
  explicit QuotaTable(Database& database);

  // In place of the one of the same project and person.
  absl::Status Put(const QuotaRow& row);
  absl::Status PutUse(const ProjectUseRow& row);
  // By project and person.
  absl::StatusOr<std::vector<QuotaRow>> List();
  absl::StatusOr<std::vector<ProjectUseRow>> Uses();
  // Removes everything of the project.
  absl::Status Delete(const std::string& project);

 private:
  Statement put_, put_use_, list_, uses_, delete_, delete_uses_;
};

}  // namespace winnow
