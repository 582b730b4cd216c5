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

// The trial as the best one of its job, without what is expected of it.
v1::BestTrial BestMessage(const JobState& state, TrialNumber trial);

// Whether objective.selection is EXPECTED.
bool SelectsExpected(const v1::TuningJobSpec& spec);

// The trial that the job hands out, with what the model expects of it (scheduler/expected_values.h):
// under EXPECTED the one of the best expected value, if a trial has completed; otherwise, and under SEEN,
// that of JobState::best_trial. Absent: there is no best. Takes some tenths of a second at most; never called
// by the coordinator. A function of the facts.
std::optional<v1::BestTrial> HandedOut(const JobState& state, const v1::TuningJobSpec& spec);

// The trial that GetArtifact means by none: of an ended job under EXPECTED the chosen one once that is
// recorded (Engine::TakeChoice), otherwise that of the best value. 0: none.
absl::StatusOr<TrialNumber> HandedOutTrial(Store& store, const JobRow& row, const v1::TuningJobSpec& spec,
                                           const SearchSpec& search);
// NOT_FOUND: the job has no such trial, and why where that is known.
absl::Status NoBest(const JobRow& row, const SearchSpec& search);

}  // namespace winnow
