#pragma once

#include <functional>

#include "absl/status/status.h"
#include "base/task_threads.h"

namespace winnow::mlp {

// Runs calls in order on its own thread, so that the caller can continue: one part of a gradient is exchanged
// while the next is computed.
class BackgroundCalls {
 public:
  // Waits for the call under way; what is still queued is not called.
  ~BackgroundCalls() { thread_.Stop(); }

  // After a call has failed, later ones are skipped.
  void Post(std::function<absl::Status()> call);

  // Waits until all posted calls have run; returns the first error and clears it.
  absl::Status Wait();

 private:
  void Run(const std::function<absl::Status()>& call);

  Mutex mutex_;
  CondVar done_;
  int left_ ABSL_GUARDED_BY(mutex_) = 0;  // posted and not yet called
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  TaskThreads thread_;
};

}  // namespace winnow::mlp
