#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/status.h"
#include "server/engine/coordinator.h"
#include "server/reads/reader.h"

namespace winnow {

// Tells once, on any thread, whether the server can record and read: OK, or why not. While it stands still, nothing.
using HealthProbe = std::function<void(std::function<void(absl::Status)> done)>;

// Through the coordinator, and then through the thread of all reads. Both outlive its last answer.
HealthProbe MakeHealthProbe(Coordinator& coordinator, Reader& reader);

struct HealthWatchOptions {
  std::chrono::milliseconds every{5'000};
  std::chrono::milliseconds patience{5'000};
};

// Probes now and then on a thread of its own, and tells whenever the health has changed.
class HealthWatch {
 public:
  // `tell` is called on the watch's thread; healthy is what is taken for granted before the first call.
  HealthWatch(HealthProbe probe, std::function<void(bool healthy)> tell, HealthWatchOptions options = {});
  // Does not wait for a probe that is under way.
  ~HealthWatch();

 private:
  // Shared with probes that are answered late.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool stopping = false;  // guarded by mutex
    bool waiting = false;   // guarded by mutex: for a probe's answer
    bool healthy = true;    // guarded by mutex: as the newest answer, or its lack, says
  };
  void Run();

  const HealthProbe probe_;
  const std::function<void(bool)> tell_;
  const HealthWatchOptions options_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  std::thread thread_;
};

}  // namespace winnow
