#include "server/host/pools/pool.h"

namespace winnow {

const char* TextOf(Allocation::State state) {
  switch (state) {
    case Allocation::State::kQueued:
      return "QUEUED";
    case Allocation::State::kRunning:
      return "RUNNING";
    case Allocation::State::kEnded:
      return "ENDED";
  }
  return "";
}

}  // namespace winnow
