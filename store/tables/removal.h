#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "store/database/database.h"

namespace winnow {

// Removes deleted jobs with every row that belongs to them, in slices that take milliseconds each, so that a
// job of 100,000 trials holds up nobody. A job that was marked is found by no query of JobTable; its id stays
// taken.
class Removal {
 public:
  explicit Removal(Database& database);

  // The job has ended, and has no artifacts.
  absl::Status Mark(int64_t job, int64_t now_us);
  // Whether a job is marked.
  absl::StatusOr<bool> Any();
  // Removes at most some thousand rows of the job that was created first among those that are marked. Returns
  // whether there may be more.
  absl::StatusOr<bool> RemoveSome();

 private:
  // The marked job that was created first; 0: none is marked.
  absl::StatusOr<int64_t> First();

  Statement mark_, first_, reports_, output_, assignments_, facts_, trials_, job_;
  Database& database_;
};

}  // namespace winnow
