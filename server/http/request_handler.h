#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "server/http/message.h"

namespace winnow {

// Answers the requests of a server's connections. Thread-safe.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;

  using Way = std::variant<HttpAnswer, std::shared_ptr<Exchange>>;
  virtual Way Handle(HttpRequest request) const = 0;

  // What is read of a body before its sender is known.
  struct FreeBody {
    size_t bytes = 0;
    bool only = false;  // a longer body is refused; otherwise it is read after Admit
  };
  virtual FreeBody FreeBodyOf(std::string_view target) const = 0;
  // 200 if the caller may send a long body; otherwise the reason. Ignores the request's body.
  virtual std::shared_ptr<Exchange> Admit(const HttpRequest& request) const = 0;

  // The answer to a request that the connection refuses, in the form that this handler's clients read.
  virtual HttpAnswer Refusal(int status, const std::string& why) const = 0;

  // The server is about to stop.
  virtual void AnnounceStop() = 0;
};

}  // namespace winnow
