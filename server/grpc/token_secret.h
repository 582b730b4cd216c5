#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow {

// A token as its holder has it: "wnw_", the id, "_" and 32 random bytes as 43 characters of base64url.
struct TokenSecret {
  std::string id;      // 8 hexadecimal digits: not secret
  std::string secret;  // the whole text
};

// INTERNAL if the system gives no random bytes.
absl::StatusOr<TokenSecret> MakeTokenSecret();

// Returns the id in a secret's text; "" if the text is not a secret.
std::string_view TokenIdOf(std::string_view secret);

// SHA-256, 32 bytes. A secret has 256 random bits, so a slow hash would add nothing.
std::string HashSecret(std::string_view secret);

// Compares in constant time.
bool SameHash(std::string_view one, std::string_view other);

}  // namespace winnow
