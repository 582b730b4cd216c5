#pragma once

#include <functional>
#include <string>

#include "server/http/message.h"

namespace winnow {

// The processing of a request whose answer takes time or is a stream of events. One thread at a time calls
// it.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Called once, first. `changed` is called on any thread whenever Next may return something new, but never
  // after the last step or after cancellation and destruction.
  virtual void Start(std::function<void()> changed) = 0;

  struct Step {
    enum class Kind {
      kWait,    // nothing yet
      kAnswer,  // the whole answer; the last step
      kOpen,    // a stream of events begins
      kPart,    // a part of it
      kEnd,     // end of the stream; the last step
    };
    Kind kind = Kind::kWait;
    HttpAnswer answer = {};
    std::string part = {};
  };
  virtual Step Next() = 0;

  // The client has disconnected: Next is not called again.
  virtual void Cancel() = 0;
};

}  // namespace winnow
