#include "store/summaries.h"

namespace winnow {

SummaryTable::SummaryTable(Database& database)
    : add_step_(database,
                "INSERT INTO best_steps (job, sequence, time_us, trial, objective, resource)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"),
      steps_(database,
             "SELECT sequence, time_us, trial, objective, resource FROM best_steps"
             " WHERE job = ?1 AND sequence > ?2 ORDER BY sequence"),
      put_(database,
           "INSERT OR REPLACE INTO job_descriptions (job, description) VALUES (?1, CAST(?2 AS BLOB))"),
      description_(database, "SELECT description FROM job_descriptions WHERE job = ?1"),
      undescribed_(database,
                   "SELECT id FROM jobs WHERE end_us <> 0 AND deleted_us = 0 AND job NOT IN (SELECT job FROM "
                   "job_descriptions)"
                   " ORDER BY job") {}

absl::Status SummaryTable::AddStep(int64_t job, const BestStep& step) {
  return add_step_.Bind(job, step.sequence, step.time_us, step.trial, step.objective, step.resource)
      .RunLater();
}

absl::StatusOr<std::vector<BestStep>> SummaryTable::Steps(int64_t job, int64_t after) {
  std::vector<BestStep> steps;
  const absl::Status status = steps_.Bind(job, after).ForEach([&] {
    steps.push_back({steps_.Int(0), steps_.Int(1), steps_.Int(2), steps_.Real(3), steps_.Int(4)});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return steps;
}

absl::Status SummaryTable::PutDescription(int64_t job, const std::string& description) {
  return put_.Bind(job, description).Run();
}

absl::StatusOr<std::optional<std::string>> SummaryTable::Description(int64_t job) {
  const absl::StatusOr<bool> row = description_.Bind(job).Next();
  if (!row.ok()) return row.status();
  if (!*row) return std::nullopt;
  std::string description = description_.Text(0);
  description_.Reset();
  return description;
}

absl::StatusOr<std::vector<std::string>> SummaryTable::Undescribed() {
  std::vector<std::string> ids;
  const absl::Status status = undescribed_.Bind().ForEach([&] {
    ids.push_back(undescribed_.Text(0));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return ids;
}

}  // namespace winnow
