#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "base/task_threads.h"
#include "server/reads/reads.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Recomputes jobs' decisions from their recorded facts (scheduler/replay.h), one at a time on its own thread:
// a search model that is asked again takes seconds. A record is read when its turn has come, so that one at
// a time is in memory. Thread-safe.
class Replays {
 public:
  using Done = std::function<void(absl::StatusOr<v1::ReplayTuningJobResponse>)>;

  // `reader` outlives it.
  explicit Replays(Reader& reader) : reader_(reader) {}
  // Waits for the running replay.
  ~Replays() { Stop(); }

  // NOT_FOUND names the job; RESOURCE_EXHAUSTED: too many wait. A running job is replayed as far as it is
  // recorded. `gone`: nobody waits for it any more, so that it need not begin. `done` is called once.
  void Replay(const std::string& id, std::function<bool()> gone, Done done);
  // No more replays begin, now and later: they are UNAVAILABLE.
  void Stop() { thread_.BeginStop(); }

 private:
  absl::StatusOr<Record> RecordOf(const std::string& id);

  Reader& reader_;
  TaskThreads thread_;
};

}  // namespace winnow
