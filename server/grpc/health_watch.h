#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "server/engine/coordinator.h"
#include "server/reads/reads.h"

namespace winnow {

// Reports once, on any thread, whether the server can record and read: OK, or the reason. Never if it stalls.
using HealthProbe = std::function<void(std::function<void(absl::Status)> done)>;

// Probes the coordinator, then the thread of all reads. Both outlive its last answer.
HealthProbe MakeHealthProbe(Coordinator& coordinator, Reader& reader);
// The reads alone.
HealthProbe MakeHealthProbe(Reader& reader);

struct HealthWatchOptions {
  std::chrono::milliseconds every{5'000};
  std::chrono::milliseconds patience{5'000};
};

// Probes at intervals on its own thread, and reports each change of health.
class HealthWatch {
 public:
  // `tell` runs on the watch's thread; the initial state is healthy.
  HealthWatch(HealthProbe probe, std::function<void(bool healthy)> tell, HealthWatchOptions options = {});
  // Does not wait for a pending probe.
  ~HealthWatch();

 private:
  // Shared with probes that are answered late.
  struct State {
    Mutex mutex;
    CondVar changed;
    bool stopping ABSL_GUARDED_BY(mutex) = false;
    bool waiting ABSL_GUARDED_BY(mutex) = false;  // for a probe's answer
    bool healthy ABSL_GUARDED_BY(mutex) = true;   // by the newest answer, or its absence
  };
  void Run();

  const HealthProbe probe_;
  const std::function<void(bool)> tell_;
  const HealthWatchOptions options_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  std::thread thread_;
};

}  // namespace winnow
