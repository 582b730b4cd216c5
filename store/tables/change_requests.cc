#include "store/tables/change_requests.h"

namespace winnow {

ChangeRequestTable::ChangeRequestTable(Database& database)
    : has_(database, "SELECT 1 FROM change_requests WHERE job = ?1 AND request_id = ?2"),
      insert_(database, "INSERT INTO change_requests (job, request_id) VALUES (?1, ?2)") {}

absl::StatusOr<bool> ChangeRequestTable::Has(int64_t job, const std::string& request_id) {
  const absl::StatusOr<bool> found = has_.Bind(job, request_id).Next();
  if (found.ok()) has_.Reset();
  return found;
}

absl::Status ChangeRequestTable::Insert(int64_t job, const std::string& request_id) {
  return insert_.Bind(job, request_id).Run();
}

}  // namespace winnow
