#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/http/message.h"

namespace winnow {

// Who signed a request, and for what.
struct Signer {
  std::string key_id;
  std::string region;
  std::string service;  // "sagemaker", "s3"
};

// The secret of an access key; absent for an unknown key.
using SecretOf = std::function<std::optional<std::string>(std::string_view key_id)>;

// How much of a request is there.
enum class SignedPart {
  kHead,  // its body has not been read: the digest that the head declares is believed
  kAll,
};

// The service that a request is signed for, without a check; "" for a request that is not signed.
std::string ServiceOf(const HttpRequest& request);

// Checks a signature of version 4 in the headers or in the query, or one of version 2 in the query of S3. The
// body must have the digest that was signed. The errors are AwsError with the codes of the service: a
// signature is missing or wrong, the key is unknown, or the time differs from `now_seconds` by more than 15
// minutes.
absl::StatusOr<Signer> CheckSignature(const HttpRequest& request, const SecretOf& secret_of,
                                      int64_t now_seconds, SignedPart part);

}  // namespace winnow
