#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/status/status.h"

namespace winnow::mlp {

// Runs calls in order on its own thread, so that the caller can continue: one part of a gradient is exchanged
// while the next is computed.
class BackgroundCalls {
 public:
  BackgroundCalls();
  ~BackgroundCalls();
  BackgroundCalls(const BackgroundCalls&) = delete;
  BackgroundCalls& operator=(const BackgroundCalls&) = delete;

  // After a call has failed, later ones are skipped.
  void Post(std::function<absl::Status()> call);

  // Waits until all posted calls have run; returns the first error and clears it.
  absl::Status Wait();

 private:
  void Loop();

  std::mutex mutex_;
  std::condition_variable posted_, done_;
  std::deque<std::function<absl::Status()>> calls_;  // guarded by mutex_, like all below
  bool busy_ = false, closing_ = false;
  absl::Status status_;
  std::thread thread_;
};

}  // namespace winnow::mlp
