#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "server/engine/answers/job_view.h"
#include "server/reads/reading_thread.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// What models expect of jobs' best trials (server/engine/answers/job_view.h), beside all other reads because
// a fit takes up to some tenths of a second. Answers are kept, for a running job until another trial has
// ended. Owner: its thread.
class Expectations {
 public:
  Expectations(Store& store, const Clock&) : store_(store), views_(store) {}

  // Adds to the job's best trial what is expected of it; under objective.selection EXPECTED puts the chosen
  // trial in its place. Does nothing if that is in the message already, if the job has no best trial or
  // several objectives, or if it is large.
  absl::Status Complete(v1::TuningJob& job);

 private:
  struct Known {
    std::pair<int64_t, int64_t> as_of;  // key of the job, ended trials
    TrialNumber seen = 0;
    std::optional<v1::BestTrial> best;
  };
  Store& store_;
  JobViews views_;
  std::map<std::string, Known> known_;  // by id
};

using ExpectationReader = ReadingThread<Expectations>;

}  // namespace winnow
