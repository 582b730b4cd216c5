#include "server/engine/held_slots.h"

#include <utility>

namespace winnow {

void HeldSlots::Set(int32_t slots, int64_t now_us) {
  if (since_us_ == 0) begin_us_ = now_us;
  if (since_us_ != 0) sum_ += static_cast<double>(slots_) * static_cast<double>(now_us - since_us_);
  since_us_ = now_us;
  slots_ = slots;
}

double HeldSlots::TakeMean(int64_t now_us) {
  Set(slots_, now_us);
  const auto time_us = static_cast<double>(now_us - begin_us_);
  begin_us_ = now_us;
  const double sum = std::exchange(sum_, 0);
  return time_us > 0 ? sum / time_us : slots_;
}

}  // namespace winnow
