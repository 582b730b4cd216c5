#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "scheduler/plan.h"
#include "scheduler/state/job_state.h"
#include "store/store.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// A job as the committed rows have it.
struct JobView {
  JobRow row;
  v1::TuningJobSpec spec;
  JobState state;
  std::map<int64_t, std::string> bracket_ends;  // why weak brackets were ended, by index
  std::string strategy_text;
  Plan plan;  // of the spec: made once, since it may take a configuration for every trial
};

// A job's row and spec, without what follows from its facts.
struct JobHead {
  JobRow row;
  v1::TuningJobSpec spec;
  SearchSpec search;
};
// NOT_FOUND names the job.
absl::StatusOr<JobHead> FindJob(Store& store, const std::string& id);

// The description of a job that was kept when it ended. Absent: the job has not ended, or none was kept.
absl::StatusOr<std::optional<v1::TuningJob>> KeptDescription(Store& store, const JobRow& row);

// Views of jobs, brought up to date by applying the facts that were committed since. Owner: the reader's
// thread.
class JobViews {
 public:
  explicit JobViews(Store& store) : store_(store) {}

  // Inside Store::Read. NOT_FOUND names the job. The pointer holds until the next call.
  absl::StatusOr<const JobView*> Get(const std::string& id);
  absl::StatusOr<const JobView*> Get(const JobRow& row);

 private:
  struct Kept {
    JobView view;
    std::list<int64_t>::iterator age;
  };
  void Forget(int64_t key);
  Store& store_;
  std::map<int64_t, std::unique_ptr<Kept>> views_;  // by key
  std::list<int64_t> ages_;                         // newest use first
};

}  // namespace winnow
