#include "store/tables/removal.h"

#include <fmt/format.h>

namespace winnow {
namespace {

constexpr char kNextAssignments[] =
    "SELECT assignment FROM assignments WHERE job = ?1"
    " ORDER BY trial DESC, attempt DESC, rank DESC LIMIT 100";

}  // namespace

// Most delete the rows before the one at an offset: none, if there are fewer. Reports are as small as facts;
// the output of an assignment may have MiBs, and goes before it, in parts. Of an attempt the highest ranks go
// first, and trials go last but the job, because a check of the database looks for missing ranks and loose
// rows.
Removal::Removal(Database& database)
    : mark_(database, "UPDATE jobs SET deleted_us = ?2, request_id = NULL WHERE job = ?1"),
      first_(database, "SELECT job FROM jobs WHERE deleted_us <> 0 ORDER BY job LIMIT 1"),
      reports_(database,
               "DELETE FROM reports WHERE job = ?1 AND (trial, attempt, resource, metric) <"
               " (SELECT trial, attempt, resource, metric FROM reports WHERE job = ?1"
               " ORDER BY trial, attempt, resource, metric LIMIT 1 OFFSET 2000)"),
      output_(database, fmt::format("DELETE FROM logs WHERE (assignment, stream, offset) IN"
                                    " (SELECT assignment, stream, offset FROM logs"
                                    " WHERE assignment IN ({}) LIMIT 100)",
                                    kNextAssignments)),
      assignments_(database,
                   fmt::format("DELETE FROM assignments WHERE assignment IN ({})", kNextAssignments)),
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
  for (Statement* rows : {&reports_, &output_, &assignments_, &facts_, &trials_, &job_}) {
    const absl::Status status = rows->Bind(*job).Run();
    if (!status.ok()) return status;
    if (database_.changes() > 0) break;
  }
  return true;
}

}  // namespace winnow
