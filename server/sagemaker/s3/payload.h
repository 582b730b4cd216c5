#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "server/http/message.h"

namespace winnow {

// The bytes of an object or a part in a request, which outlives it.
struct Payload {
  const HttpRequest* request = nullptr;
  std::optional<std::string> decoded;  // absent: the bytes are the request's body as it is
  std::string md5;                     // in hexadecimal
  std::string checksum;  // "x-amz-checksum-crc32: kZRAbQ==", which the bytes have; "": none was sent

  std::string_view bytes() const { return decoded ? *decoded : request->body; }
};

// Decodes the chunks that SDKs send, and checks every digest that the request has, in its headers or behind
// its body. The errors are AwsError: BadDigest, IncompleteBody, or NotImplemented for a digest that is not
// known here. REQUIRES: the request outlives the payload.
absl::StatusOr<Payload> TakePayload(const HttpRequest& request);

}  // namespace winnow
