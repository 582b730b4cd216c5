#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/checkpoints/cancellation.h"
#include "worker/data/aws_access.h"

namespace winnow {

// A request over HTTP.
struct HttpRequest {
  std::string url;
  std::vector<std::string> headers = {};  // "Name: value"
  const AwsAccess* access = nullptr;      // signs it with SigV4; null: it is not signed
  bool slow_reader = false;               // the body's receiver may take any time
};

struct HttpHead {
  int status = 0;
  std::map<std::string, std::string> headers;  // of the last response, names in lower case
  std::string Header(const std::string& name) const;
};

struct HttpAnswer {
  HttpHead head;
  std::string error_body;  // the beginning of the body of another status than 200 and 206
};

// Takes the body of a 200 or 206 piece by piece, on the caller's thread. An error ends the transfer.
using HttpBody = std::function<absl::Status(const HttpHead& head, std::string_view bytes)>;

// Sends the request and waits for the end of its answer. Follows redirections of requests that are not
// signed, from https:// to https:// only. An answer with any status is OK. UNAVAILABLE: no answer, or not all
// of it, came; CANCELLED; or the error of `body`. Connections are kept by thread.
absl::StatusOr<HttpAnswer> HttpGet(const HttpRequest& request, const HttpBody& body,
                                   const Cancellation& cancellation);

}  // namespace winnow
