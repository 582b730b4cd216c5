#pragma once

#include <cstdint>

namespace winnow {

// How many slots a worker held on average. Times are of Clock::steady_us.
class HeldSlots {
 public:
  // The worker holds `slots` from `now_us` on.
  void Set(int32_t slots, int64_t now_us);
  // The mean since the last call, or since the first Set.
  double TakeMean(int64_t now_us);

 private:
  int32_t slots_ = 0;
  int64_t since_us_ = 0;  // from when on slots_ counts; 0: nothing was told yet
  int64_t begin_us_ = 0;  // of the time that the mean is over
  double sum_ = 0;        // slots times microseconds until since_us_
};

}  // namespace winnow
