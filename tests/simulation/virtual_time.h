#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "worker/host/timers.h"

namespace winnow {

inline constexpr int64_t kSecondUs = 1'000'000;

// A clock that jumps from event to event. Events of one moment happen in the order in which they were set.
class VirtualTime {
 public:
  using Id = uint64_t;

  int64_t now_us() const { return now_us_; }
  // At once if `when_us` is past.
  Id At(int64_t when_us, std::function<void()> event);
  Id After(int64_t delay_us, std::function<void()> event) { return At(now_us_ + delay_us, std::move(event)); }
  // Ignores one that has happened.
  void Cancel(Id id);
  // Runs the next event. False: there is none.
  bool Step();

 private:
  int64_t now_us_ = 0;
  Id last_ = 0;
  std::map<std::pair<int64_t, Id>, std::function<void()>> events_;
  std::unordered_map<Id, int64_t> when_;
};

// Timers of one agent's process. They are suspended while it is stalled, and dropped once it is gone.
class SimTimers : public Timers {
 public:
  explicit SimTimers(VirtualTime* time) : time_(time) {}
  ~SimTimers() override;

  TimePoint Now() override { return TimePoint(std::chrono::microseconds(time_->now_us())); }
  void Post(std::function<void()> function) override { At(Now(), std::move(function)); }
  Id At(TimePoint when, std::function<void()> function) override;
  void Cancel(Id id) override;

  void StallUntil(int64_t when_us) { stalled_until_us_ = when_us; }

 private:
  struct Timer {
    VirtualTime::Id event = 0;
    std::function<void()> function;
  };
  void Arm(Id id, int64_t when_us);
  void Fire(Id id);

  VirtualTime* const time_;
  int64_t stalled_until_us_ = 0;
  Id last_ = 0;
  std::unordered_map<Id, Timer> timers_;
};

}  // namespace winnow
