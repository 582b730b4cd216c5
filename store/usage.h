#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "store/database/database.h"

namespace winnow {

// Workers' usage is kept in steps, which are coarser for older usage.
struct UsageLevel {
  int64_t step_s = 0;
  int64_t kept_s = 0;
};
// 6,120 rows for a worker that is always present: about 200 KB of the file, however long it works.
inline constexpr std::array<UsageLevel, 3> kUsageLevels = {{{10, 3'600}, {60, 86'400}, {600, 2'592'000}}};

// A rank has at most this many rows, about 5 KB: when it runs longer, its steps of 10 s become 20 s, 40 s, …
inline constexpr int64_t kMostAssignmentSteps = 240;
// The step, in seconds, of a rank placed `elapsed_s` ago.
int64_t AssignmentStepSeconds(int64_t elapsed_s);

struct UsageWorker {
  int64_t key = 0;
  std::string name;
  std::string host;
  int32_t slots = 0;
};

// One step of one worker.
struct WorkerStep {
  int64_t start_s = 0;  // since the Unix epoch; a multiple of the step
  int64_t worker = 0;   // UsageWorker::key
  double cpu = 0;       // mean, of the host: 0 to 1
  double memory = 0;    // highest, of the host: 0 to 1
  double slots = 0;     // mean of those held
};

// One step of one rank.
struct AssignmentStep {
  int64_t second = 0;     // since it was placed
  double cpus = 0;        // mean
  double memory_gib = 0;  // highest
};

class UsageTable {
 public:
  explicit UsageTable(Database& database);

  // Inserts or updates the worker of that name, seen at `now_s`; returns its key.
  absl::StatusOr<int64_t> PutWorker(const std::string& name, const std::string& host, int32_t slots,
                                    int64_t now_s);
  // By name.
  absl::StatusOr<std::vector<UsageWorker>> Workers();

  // Adds a step of the finest level; the first one counts.
  absl::Status Put(const WorkerStep& step);
  // Makes completed coarser steps from the finer ones, and deletes expired ones, of workers and ranks. Makes
  // steps again if data for them has arrived within the last five minutes. To be called every minute.
  absl::Status RollUp(int64_t now_s);
  // Returns the steps of a level that begin in [from_s, to_s), by time and worker.
  absl::StatusOr<std::vector<WorkerStep>> Steps(const UsageLevel& level, int64_t from_s, int64_t to_s);
  // Returns the end of the newest step of a level; 0: none.
  absl::StatusOr<int64_t> EndOf(const UsageLevel& level);

  // The first one of a second counts.
  absl::Status Put(int64_t assignment, const AssignmentStep& step);
  // Merges the rank's rows into steps of `step_s`.
  absl::Status Coarsen(int64_t assignment, int64_t step_s);
  absl::StatusOr<std::vector<AssignmentStep>> OfAssignment(int64_t assignment);

 private:
  absl::Status RollUp(const UsageLevel& fine, const UsageLevel& coarse, int64_t now_s);
  absl::Status ForgetAssignments(int64_t before_us);

  Statement put_worker_, worker_key_, workers_, forget_workers_;
  Statement put_step_, newest_, roll_up_, forget_steps_, steps_;
  Statement put_rank_, merge_, drop_merged_, of_assignment_, oldest_rank_, forget_rank_;
};

}  // namespace winnow
