#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/http/message.h"

namespace winnow {

// The bytes of an object or a part, taken out of a request.
struct Payload {
  std::string bytes;
  std::string md5;       // in hexadecimal
  std::string checksum;  // "x-amz-checksum-crc32: kZRAbQ==", which the bytes have; "": none was sent
};

// Decodes the chunks that SDKs send, and checks every digest that the request has, in its headers or behind
// its body. The errors are AwsError: BadDigest, IncompleteBody, or NotImplemented for a digest that is not
// known here.
absl::StatusOr<Payload> TakePayload(const HttpRequest& request);

}  // namespace winnow
