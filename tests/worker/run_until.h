#pragma once

#include <chrono>
#include <functional>

#include "worker/host/event_loop.h"

namespace winnow {

// Runs the loop until the condition holds; false: it does not within 60 s.
inline bool RunUntil(EventLoop& loop, const std::function<bool()>& condition) {
  const auto end = EventLoop::Clock::now() + std::chrono::seconds(60);
  while (!condition() && EventLoop::Clock::now() < end) {
    const EventLoop::Id look = loop.After(std::chrono::milliseconds(2), [&loop] { loop.Quit(); });
    loop.Run();
    loop.Cancel(look);
  }
  return condition();
}

}  // namespace winnow
