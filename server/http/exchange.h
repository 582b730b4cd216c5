#pragma once

#include <functional>
#include <string>

#include "server/http/message.h"

namespace winnow {

// The way from a request to its answer where that takes a while, or where the answer is a stream of events.
// One thread at a time calls it.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // To be called once, first. `changed` is called on any thread whenever Next may have something new, and
  // never after the exchange has said its last step or was cancelled and destroyed.
  virtual void Start(std::function<void()> changed) = 0;

  struct Step {
    enum class Kind {
      kWait,    // nothing yet
      kAnswer,  // the whole answer; the last step
      kOpen,    // a stream of events begins
      kPart,    // `part` of it
      kEnd,     // of the stream; the last step
    };
    Kind kind = Kind::kWait;
    HttpAnswer answer = {};
    std::string part = {};
  };
  virtual Step Next() = 0;

  // The client has gone: nobody will ask for the rest.
  virtual void Cancel() = 0;
};

}  // namespace winnow
