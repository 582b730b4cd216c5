#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "store/database.h"

namespace winnow {

struct WorkerRow {
  std::string id;
  std::string name;
  std::string host;
  int32_t slots = 0;
  std::string storage_id;
  std::string version;
  int32_t rendezvous_port = 0;
  std::string state;  // live, leaving, lost, gone
  int64_t register_us = 0;
  int64_t last_sync_us = 0;  // as of the newest change of the row
};

class WorkerTable {
 public:
  explicit WorkerTable(Database& database);

  // Inserts or updates.
  absl::Status Put(const WorkerRow& row);
  // In order of registration.
  absl::StatusOr<std::vector<WorkerRow>> List(bool include_gone);

 private:
  Statement put_, list_;
};

}  // namespace winnow
