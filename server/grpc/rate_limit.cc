#include "server/grpc/rate_limit.h"

#include <algorithm>

namespace winnow {
namespace {

constexpr double kBurstSeconds = 2;
constexpr size_t kFewCallers = 1024;

}  // namespace

bool RateLimit::Take(std::string_view caller, int64_t now_us) {
  if (per_second_ <= 0) return true;
  const double full = std::max(1.0, per_second_ * kBurstSeconds);
  auto found = buckets_.find(caller);
  if (found == buckets_.end()) {
    if (buckets_.size() >= forget_at_) ForgetFull(now_us);
    found = buckets_.emplace(std::string(caller), Bucket{full, now_us}).first;
  }
  Bucket& bucket = found->second;
  const double gained = static_cast<double>(now_us - bucket.as_of_us) / 1e6 * per_second_;
  bucket.calls = std::min(full, bucket.calls + std::max(0.0, gained));
  bucket.as_of_us = std::max(bucket.as_of_us, now_us);
  if (bucket.calls < 1) return false;
  bucket.calls -= 1;
  return true;
}

void RateLimit::ForgetFull(int64_t now_us) {
  const double full = std::max(1.0, per_second_ * kBurstSeconds);
  std::erase_if(buckets_, [&](const auto& entry) {
    const auto& bucket = entry.second;
    return bucket.calls + static_cast<double>(now_us - bucket.as_of_us) / 1e6 * per_second_ >= full;
  });
  forget_at_ = std::max(kFewCallers, 2 * buckets_.size());
}

}  // namespace winnow
