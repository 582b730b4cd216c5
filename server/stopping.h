#pragma once

#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdlib>

namespace winnow {

// How long a server that stops waits for its calls over gRPC, then for answers over HTTP, and for all of it
// together, with reads and models that are under way.
inline constexpr std::chrono::seconds kCallsEnd{5}, kAnswersEnd{2}, kAllEnds{15};

// Exits at once: everything acknowledged is recorded, and the next server reads it.
[[noreturn]] inline void LeaveAtOnce() {
  spdlog::warn("stopped without waiting for unfinished reads and computations");
  spdlog::shutdown();
  std::_Exit(0);
}

}  // namespace winnow
