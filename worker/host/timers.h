#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace winnow {

// What an agent needs of the thread that it lives on: time, and functions run one after the other. EventLoop is the
// real one; a simulation has its own, with a clock of its own.
class Timers {
 public:
  using Clock = std::chrono::steady_clock;
  using TimePoint = Clock::time_point;
  using Id = uint64_t;  // of a timer; 0 is none

  virtual ~Timers() = default;

  virtual TimePoint Now() = 0;
  // Any thread. Functions run in the order in which they were posted.
  virtual void Post(std::function<void()> function) = 0;
  virtual Id At(TimePoint when, std::function<void()> function) = 0;
  Id After(Clock::duration delay, std::function<void()> function) {
    return At(Now() + delay, std::move(function));
  }
  // A timer that has fired, or id 0, is ignored.
  virtual void Cancel(Id id) = 0;
};

}  // namespace winnow
