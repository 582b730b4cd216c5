#include "server/grpc/blob_turns.h"

#include <utility>

namespace winnow {

void BlobTurns::Await(std::function<void()> turn) {
  {
    MutexLock lock(mutex_);
    if (free_ == 0) {
      waiting_.push_back(std::move(turn));
      return;
    }
    --free_;
  }
  turn();
}

void BlobTurns::End() {
  std::function<void()> next;
  {
    MutexLock lock(mutex_);
    if (waiting_.empty()) {
      ++free_;
      return;
    }
    next = std::move(waiting_.front());
    waiting_.pop_front();
  }
  next();
}

}  // namespace winnow
