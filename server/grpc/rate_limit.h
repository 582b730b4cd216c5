#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace winnow {

// A token bucket per caller: `per_second` calls in the long run, and as many at once as two seconds give. Not
// thread-safe.
class RateLimit {
 public:
  // 0: no limit.
  explicit RateLimit(double per_second) : per_second_(per_second) {}

  // Whether one more call of `caller` is within the limit at `now_us`, a clock that never goes back; counts
  // it if so.
  bool Take(std::string_view caller, int64_t now_us);

  double per_second() const { return per_second_; }
  size_t callers() const { return buckets_.size(); }

 private:
  struct Bucket {
    double calls = 0;  // that may still be made
    int64_t as_of_us = 0;
  };
  // Those that are full again say nothing.
  void ForgetFull(int64_t now_us);

  const double per_second_;
  std::map<std::string, Bucket, std::less<>> buckets_;
  size_t forget_at_ = 1024;
};

}  // namespace winnow
