#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"

namespace winnow {

// What waits for its second request, under keys that cannot be guessed: at most `most` at a time, each for at
// most `life_us`. If there are too many, the oldest goes. Times are of a clock that never jumps. Thread-safe.
template <typename Value>
class Pending {
 public:
  Pending(size_t most, int64_t life_us) : most_(most), life_us_(life_us) {}

  void Put(const std::string& key, Value value, int64_t now_us) {
    MutexLock lock(mutex_);
    while (!order_.empty() && (order_.size() >= most_ || order_.front().first + life_us_ <= now_us)) {
      values_.erase(order_.front().second);
      order_.pop_front();
    }
    order_.emplace_back(now_us, key);
    values_.insert_or_assign(key, std::move(value));
  }

  // Removes and returns it.
  std::optional<Value> Take(const std::string& key, int64_t now_us) {
    MutexLock lock(mutex_);
    Forget(now_us);
    const auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    std::optional<Value> value = std::move(found->second);
    values_.erase(found);
    return value;
  }

  // Calls `change` with it, unless it is gone; returns whether it was there.
  template <typename Change>
  bool Update(const std::string& key, int64_t now_us, Change change) {
    MutexLock lock(mutex_);
    Forget(now_us);
    const auto found = values_.find(key);
    if (found == values_.end()) return false;
    change(found->second);
    return true;
  }

 private:
  void Forget(int64_t now_us) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (!order_.empty() && order_.front().first + life_us_ <= now_us) {
      values_.erase(order_.front().second);
      order_.pop_front();
    }
  }

  const size_t most_;
  const int64_t life_us_;
  Mutex mutex_;
  std::map<std::string, Value> values_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::pair<int64_t, std::string>> order_
      ABSL_GUARDED_BY(mutex_);  // also of those that were taken
};

}  // namespace winnow
