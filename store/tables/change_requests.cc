#include "store/tables/change_requests.h"

namespace winnow {

ChangeRequestTable::ChangeRequestTable(Database& database)
    : has_(database, "SELECT COUNT(*) FROM change_requests WHERE job = ?1 AND request_id = ?2"),
      insert_(database, "INSERT INTO change_requests (job, request_id) VALUES (?1, ?2)") {}

absl::StatusOr<bool> ChangeRequestTable::Has(int64_t job, const std::string& request_id) {
  const absl::StatusOr<bool> row = has_.Bind(job, request_id).Next();
  if (!row.ok()) return row.status();
  const bool found = has_.Int(0) > 0;
  has_.Reset();
  return found;
}

absl::Status ChangeRequestTable::Insert(int64_t job, const std::string& request_id) {
  return insert_.Bind(job, request_id).Run();
}

}  // namespace winnow
