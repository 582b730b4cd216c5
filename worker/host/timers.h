#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace winnow {

// The agent's interface to its thread: time, and functions run one after the other. EventLoop is the real
// one; a simulation uses a virtual clock.
class Timers {
 public:
  using Clock = std::chrono::steady_clock;
  using TimePoint = Clock::time_point;
  using Id = uint64_t;  // id of a timer; 0: none

  virtual ~Timers() = default;

  virtual TimePoint Now() = 0;
  // Any thread. Functions run in the order in which they were posted.
  virtual void Post(std::function<void()> function) = 0;
  virtual Id At(TimePoint when, std::function<void()> function) = 0;
  Id After(Clock::duration delay, std::function<void()> function) {
    return At(Now() + delay, std::move(function));
  }
  // Ignores id 0 and timers that have fired.
  virtual void Cancel(Id id) = 0;
};

}  // namespace winnow
