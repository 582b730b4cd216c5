#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/status/status.h"

namespace winnow::mlp {

// Calls that are made one after the other on a thread of their own, so that the caller can go on: the
// exchange of one part of a gradient while the next is computed.
class BackgroundCalls {
 public:
  BackgroundCalls();
  ~BackgroundCalls();
  BackgroundCalls(const BackgroundCalls&) = delete;
  BackgroundCalls& operator=(const BackgroundCalls&) = delete;

  // After a call has failed, later ones are not made.
  void Post(std::function<absl::Status()> call);

  // All that was posted has been called; the first error, which is then forgotten.
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
