#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "store/database/database.h"

namespace winnow {

// A call that changed, or was refused to change, something; see winnow.v1.AuditEntry.
struct AuditRow {
  int64_t sequence = 0;  // given by the table
  int64_t time_us = 0;
  std::string person;
  std::string token;
  std::string address;
  std::string method;
  std::string job;  // its id, also after it was deleted
  int64_t trial = 0;
  std::string subject;
  std::string detail;
  std::string outcome;

  bool operator==(const AuditRow&) const = default;
};

struct AuditFilter {
  std::string person;  // "": all, here and below
  std::string job;
  std::string method;
  int64_t since_us = 0;
};

// Rows are added, and removed by age; the database refuses to change one.
class AuditTable {
 public:
  explicit AuditTable(Database& database);

  // May run late, see Statement::RunLater.
  absl::Status Add(const AuditRow& row);
  // The newest first: at most `limit` with a sequence below `before`.
  absl::StatusOr<std::vector<AuditRow>> List(const AuditFilter& filter, int64_t before, int64_t limit);
  // Removes at most `limit` rows from before that time; returns how many it has removed.
  absl::StatusOr<int64_t> RemoveBefore(int64_t time_us, int64_t limit);

 private:
  Database& database_;
  Statement insert_, remove_;
};

}  // namespace winnow
