#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "store/database/database.h"

namespace winnow {

// The request ids of changes that were made to jobs, by which a call that is sent again is recognised.
class ChangeRequestTable {
 public:
  explicit ChangeRequestTable(Database& database);

  absl::StatusOr<bool> Has(int64_t job, const std::string& request_id);
  // REQUIRES: the job has no such row.
  absl::Status Insert(int64_t job, const std::string& request_id);

 private:
  Statement has_, insert_;
};

}  // namespace winnow
