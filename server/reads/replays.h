#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "base/task_threads.h"
#include "server/reads/reads.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Recomputes jobs' decisions from their recorded facts (scheduler/replay.h), one at a time on its own thread:
// a search model that is asked again takes seconds. Thread-safe.
class Replays {
 public:
  using Done = std::function<void(absl::StatusOr<v1::ReplayTuningJobResponse>)>;

  // `reader` outlives it.
  explicit Replays(Reader& reader) : reader_(reader) {}
  // Waits for the running replay.
  ~Replays();

  // NOT_FOUND names the job. A running job is replayed as far as it is recorded.
  void Replay(const std::string& id, Done done);
  // Answers all waiting calls with UNAVAILABLE, now and later.
  void Stop();

 private:
  void Answer(const std::shared_ptr<Done>& done, absl::StatusOr<v1::ReplayTuningJobResponse> answer);

  Reader& reader_;
  Mutex mutex_;
  std::set<std::shared_ptr<Done>> waiting_ ABSL_GUARDED_BY(mutex_);  // not answered yet
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  TaskThreads thread_;
};

}  // namespace winnow
