#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace winnow {

struct WatchEvent {
  std::string type;  // ADDED, MODIFIED, DELETED, BOOKMARK
  nlohmann::json object;
};

// Reads the answer to a watch: one JSON object a line. How its bytes are divided into pieces changes nothing.
class EventStream {
 public:
  using Receiver = std::function<void(WatchEvent event)>;

  // Calls `receiver` for each event that is complete. OUT_OF_RANGE: the server no longer knows what followed
  // the version that was asked for, so that a new list is needed; UNAVAILABLE: another error of the server,
  // or not an event.
  absl::Status Take(std::string_view bytes, const Receiver& receiver);

 private:
  std::string line_;  // begun
};

// At most so many bytes of the text on one line: each control character is a space, each byte that is not
// UTF-8 a '?'.
std::string OneLine(std::string_view text, size_t most);

// Returns the error of a response: its body is a Status of Kubernetes, or any text. NOT_FOUND: 404;
// ALREADY_EXISTS: 409 of a name that is taken; ABORTED: another 409; OUT_OF_RANGE: 410; UNAUTHENTICATED: 401;
// PERMISSION_DENIED: 403, which quotas and admission answer too; RESOURCE_EXHAUSTED: 429; UNAVAILABLE: 5xx;
// INVALID_ARGUMENT: another one.
absl::Status ApiError(int status, const nlohmann::json& body, std::string_view text);

}  // namespace winnow
