#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "store/database/database.h"

namespace winnow {

// Planned: recorded, and the engine has not confirmed it.
enum class AllocationState { kPlanned, kQueued, kRunning, kEnded };

// Nodes that a pool's engine is asked for.
struct AllocationRow {
  int64_t number = 0;  // never used twice
  std::string pool;
  std::string name;  // ends in "-" and the number
  int32_t nodes = 1;
  AllocationState state = AllocationState::kPlanned;
  std::string engine_id;  // "": not known
  std::string reason;     // why it waits or has ended
  std::vector<std::string> hosts = {};
  std::string token = "";   // id of its workers' token; "": they need none
  std::string cancel = "";  // why it was asked to end; "": it was not
  bool failed = false;      // it was refused, or it ended without a worker having joined, and was needed
  int32_t workers = 0;      // nodes of which a worker has joined
  double cost_per_node_hour = 0;
  int64_t create_us = 0;
  int64_t start_us = 0;  // 0: it has not run
  int64_t end_us = 0;    // 0: it has not ended

  bool ended() const { return state == AllocationState::kEnded; }
  bool operator==(const AllocationRow&) const = default;
};

// The allocations of a pool in sum.
struct AllocationSum {
  std::string pool;
  double node_us = 0;  // of those that have ended
  double cost = 0;     // of these
};

class AllocationTable {
 public:
  explicit AllocationTable(Database& database);

  // Inserts the row under the next number and the name `prefix`-NUMBER, which it gets.
  absl::Status Insert(const std::string& prefix, AllocationRow& row);
  absl::Status Update(const AllocationRow& row);
  // The allocations that have not ended, ordered by number.
  absl::StatusOr<std::vector<AllocationRow>> Open();
  // The newest of a pool that have ended, newest first.
  absl::StatusOr<std::vector<AllocationRow>> NewestEnded(const std::string& pool, int64_t most);
  // By pool.
  absl::StatusOr<std::vector<AllocationSum>> Sums();
  // Removes the tokens of workers that were revoked before that time.
  absl::Status RemoveTokensBefore(int64_t time_us);

 private:
  absl::StatusOr<std::vector<AllocationRow>> All(Statement& statement);
  Database& database_;
  Statement insert_, rename_, update_, open_, newest_, sums_, remove_tokens_;
};

}  // namespace winnow
