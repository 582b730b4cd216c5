#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/space/types.h"
#include "store/database/database.h"

namespace winnow {

// A change of a job's best value.
struct BestStep {
  int64_t sequence = 0;  // of the newest fact at that time
  int64_t time_us = 0;
  TrialNumber trial = 0;  // the trial with the best value
  double objective = 0;
  int64_t resource = 0;  // units that the job had trained at that time

  bool operator==(const BestStep&) const = default;
};

// Results derived from a job's facts that would take long to recompute from millions: the steps of its best
// value and, once it has ended, its description.
class SummaryTable {
 public:
  explicit SummaryTable(Database& database);

  absl::Status AddStep(int64_t job, const BestStep& step);
  // In order; those with a sequence above `after`.
  absl::StatusOr<std::vector<BestStep>> Steps(int64_t job, int64_t after = 0);

  // `description` is a winnow.v1.TuningJob without its spec. Replaces an earlier one.
  absl::Status PutDescription(int64_t job, const std::string& description);
  // Absent: the job has not ended, or has no stored description.
  absl::StatusOr<std::optional<std::string>> Description(int64_t job);
  // Ids of the ended jobs without one.
  absl::StatusOr<std::vector<std::string>> Undescribed();

 private:
  Statement add_step_, steps_, put_, description_, undescribed_;
};

}  // namespace winnow
