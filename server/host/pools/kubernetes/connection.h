#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/host/pools/kubernetes/access.h"

namespace winnow {

struct ApiRequest {
  std::string method = "GET";
  std::string target;  // path and query
  std::string body;    // JSON; "": none
  std::chrono::milliseconds longest{30'000};
  std::chrono::milliseconds silent{30'000};  // without a byte: the connection counts as dead
};

struct ApiResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // unless a receiver took it
};

// Takes the body of a 200 piece by piece, first an empty one when the head is there. An error ends the
// transfer.
using BodyReceiver = std::function<absl::Status(std::string_view bytes)>;

// A connection to an API server, kept from one request to the next. One thread at a time, but for Stop.
class ApiConnection {
 public:
  // RESOURCE_EXHAUSTED: libcurl has no memory.
  static absl::StatusOr<std::unique_ptr<ApiConnection>> Make();
  ~ApiConnection();

  // Returns the answer, whatever its status. Follows no redirection. UNAVAILABLE: none, or not all of it,
  // came in time; CANCELLED: Stop was called; or the receiver's error.
  absl::StatusOr<ApiResponse> Send(const KubernetesAccess& access, const ApiRequest& request,
                                   const BodyReceiver& receiver = nullptr);

  // Ends a request that is under way, and all that follow. Thread-safe.
  void Stop();

 private:
  struct Handles;
  explicit ApiConnection(std::unique_ptr<Handles> handles);

  std::unique_ptr<Handles> handles_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace winnow
