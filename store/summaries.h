#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/space/types.h"
#include "store/database.h"

namespace winnow {

// When a job's best value changed, and to what.
struct BestStep {
  int64_t sequence = 0;  // of the newest fact by then
  int64_t time_us = 0;
  TrialNumber trial = 0;  // who has it
  double objective = 0;
  int64_t resource = 0;  // units that the job had trained by then

  bool operator==(const BestStep&) const = default;
};

// What follows from a job's facts and would take long to find out again when there are millions: the steps of
// its best value and, once it has ended, how it is described.
class SummaryTable {
 public:
  explicit SummaryTable(Database& database);

  absl::Status AddStep(int64_t job, const BestStep& step);
  // In order; those with a sequence above `after`.
  absl::StatusOr<std::vector<BestStep>> Steps(int64_t job, int64_t after = 0);
  // 0: there is none.
  absl::StatusOr<int64_t> LastStep(int64_t job);

  // `description` is a winnow.v1.TuningJob without its spec. Replaces an earlier one.
  absl::Status PutDescription(int64_t job, const std::string& description);
  // Absent: the job has not ended, or its description is not kept.
  absl::StatusOr<std::optional<std::string>> Description(int64_t job);
  // Ids of the jobs that have ended and have none.
  absl::StatusOr<std::vector<std::string>> Undescribed();

 private:
  Statement add_step_, steps_, last_step_, put_, description_, undescribed_;
};

}  // namespace winnow
