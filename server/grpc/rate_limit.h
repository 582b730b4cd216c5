#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace winnow {

// A token bucket per caller: `per_second` calls on average, with bursts of two seconds' worth. Not
// thread-safe.
class RateLimit {
 public:
  // 0: no limit.
  explicit RateLimit(double per_second) : per_second_(per_second) {}

  // Returns whether one more call of `caller` is within the limit at `now_us`, a monotonic clock; counts it
  // if so.
  bool Take(std::string_view caller, int64_t now_us);

  double per_second() const { return per_second_; }
  size_t callers() const { return buckets_.size(); }

 private:
  struct Bucket {
    double calls = 0;  // calls available
    int64_t as_of_us = 0;
  };
  // Full buckets are the default, so they are removed.
  void ForgetFull(int64_t now_us);

  const double per_second_;
  std::map<std::string, Bucket, std::less<>> buckets_;
  size_t forget_at_ = 1024;
};

}  // namespace winnow
