#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/engine/answers/job_view.h"
#include "server/engine/projects/project_book.h"
#include "server/engine/projects/stored_bytes.h"
#include "store/store.h"

namespace winnow {

// Says what running jobs without running trials wait for. What a project with a quota has is read once, for
// the first of its jobs. Used inside one Store::Read.
class WaitReasons {
 public:
  // Both outlive it.
  WaitReasons(Store& store, JobViews& views, int64_t now_us)
      : store_(store), views_(views), now_us_(now_us), book_(store.database(), {}, stored_) {}

  // A sentence; "": nothing. `job` may be gone when it returns, since other views are read.
  absl::StatusOr<std::string> Of(const JobView& job);

 private:
  // Which quota forbids the job to start what takes `more`, a sentence; "": none does.
  absl::StatusOr<std::string> QuotaReason(const JobRow& row, const QuotaUse& more);
  // Reads what the project's jobs have, unless that has been read.
  absl::Status LoadUses(const std::string& project);

  Store& store_;
  JobViews& views_;
  const int64_t now_us_;
  StoredBytes stored_;
  ProjectBook book_;
  bool quotas_read_ = false;
  std::set<std::string> read_;  // projects whose uses are in uses_
  std::vector<JobUse> uses_;
};

}  // namespace winnow
