#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "server/reads/reader.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Recomputes jobs' decisions from their recorded facts (scheduler/replay.h), one at a time on its own thread:
// a search model that is asked again takes seconds. Thread-safe.
class Replays {
 public:
  using Done = std::function<void(absl::StatusOr<v1::ReplayTuningJobResponse>)>;

  // `reader` outlives it.
  explicit Replays(Reader& reader);
  // Waits for the running replay.
  ~Replays();

  // NOT_FOUND names the job. A running job is replayed as far as it is recorded.
  void Replay(const std::string& id, Done done);
  // Answers all waiting calls with UNAVAILABLE, now and later.
  void Stop();

 private:
  struct Task {
    SearchSpec spec;
    std::vector<Fact> facts;
    std::shared_ptr<Done> done;
  };

  void Run();
  void Enqueue(Task task);
  void Answer(const std::shared_ptr<Done>& done, absl::StatusOr<v1::ReplayTuningJobResponse> answer);

  Reader& reader_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> queue_;                   // guarded by mutex_
  std::set<std::shared_ptr<Done>> waiting_;  // guarded by mutex_; not answered yet
  bool stopping_ = false;                    // guarded by mutex_
  std::thread thread_;
};

}  // namespace winnow
