#pragma once

#include <deque>
#include <functional>

#include "base/mutex.h"

namespace winnow {

// Lets so many calls at a time have a blob in memory. The others wait, in the order in which they came.
// Thread-safe.
class BlobTurns {
 public:
  explicit BlobTurns(int most) : free_(most) {}

  // Calls `turn` at once, or later on the thread of a call that ends its turn.
  void Await(std::function<void()> turn);
  // REQUIRES: the caller has a turn, and no blob any more.
  void End();

 private:
  Mutex mutex_;
  int free_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow
