#include "store/tables/removal.h"

namespace winnow {

// Each deletes the rows before the one at an offset: none, if there are fewer. Reports are as small as facts;
// an assignment takes along its output, of up to a MiB. The ranks of a trial go together, and trials go last
// but the job, because a check of the database looks for loose rows.
Removal::Removal(Database& database)
    : mark_(database, "UPDATE jobs SET deleted_us = ?2, request_id = NULL WHERE job = ?1"),
      first_(database, "SELECT job FROM jobs WHERE deleted_us <> 0 ORDER BY job LIMIT 1"),
      reports_(database,
               "DELETE FROM reports WHERE job = ?1 AND (trial, attempt, resource, metric) <"
               " (SELECT trial, attempt, resource, metric FROM reports WHERE job = ?1"
               " ORDER BY trial, attempt, resource, metric LIMIT 1 OFFSET 2000)"),
      assignments_(database,
                   "DELETE FROM assignments WHERE job = ?1 AND trial < (SELECT trial FROM assignments"
                   " WHERE job = ?1 ORDER BY trial, attempt, rank LIMIT 1 OFFSET 100)"),
      one_trial_(database,
                 "DELETE FROM assignments WHERE job = ?1 AND"
                 " trial = (SELECT MIN(trial) FROM assignments WHERE job = ?1)"),
      facts_(database,
             "DELETE FROM events WHERE job = ?1 AND sequence < (SELECT sequence FROM events WHERE job = ?1"
             " ORDER BY sequence LIMIT 1 OFFSET 2000)"),
      trials_(database,
              "DELETE FROM trials WHERE job = ?1 AND trial < (SELECT trial FROM trials WHERE job = ?1"
              " ORDER BY trial LIMIT 1 OFFSET 2000)"),
      // With what is left of it.
      job_(database, "DELETE FROM jobs WHERE job = ?1"),
      database_(database) {}

absl::Status Removal::Mark(int64_t job, int64_t now_us) { return mark_.Bind(job, now_us).Run(); }

absl::StatusOr<int64_t> Removal::First() {
  const absl::StatusOr<bool> any = first_.Bind().Next();
  if (!any.ok()) return any.status();
  const int64_t job = *any ? first_.Int(0) : 0;
  first_.Reset();
  return job;
}

absl::StatusOr<bool> Removal::Any() {
  const absl::StatusOr<int64_t> job = First();
  return job.ok() ? absl::StatusOr<bool>(*job != 0) : job.status();
}

absl::StatusOr<bool> Removal::RemoveSome() {
  const absl::StatusOr<int64_t> job = First();
  if (!job.ok()) return job.status();
  if (*job == 0) return false;
  for (Statement* rows : {&reports_, &assignments_, &one_trial_, &facts_, &trials_, &job_}) {
    const absl::Status status = rows->Bind(*job).Run();
    if (!status.ok()) return status;
    if (database_.changes() > 0) break;
  }
  return true;
}

}  // namespace winnow
