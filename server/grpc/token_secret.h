#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow {

// A token as its holder shows it: "wnw_", the id, "_" and 43 characters that say 32 random bytes in
// base64url.
struct TokenSecret {
  std::string id;      // 8 hexadecimal digits: not secret
  std::string secret;  // the whole text
};

// INTERNAL if the system gives no random bytes.
absl::StatusOr<TokenSecret> MakeTokenSecret();

// The id in a secret's text; "" if the text has not a secret's form.
std::string_view TokenIdOf(std::string_view secret);

// SHA-256, 32 bytes. A secret has 256 random bits, so a slow hash would add nothing.
std::string HashSecret(std::string_view secret);

// Takes the same time wherever two hashes differ.
bool SameHash(std::string_view one, std::string_view other);

}  // namespace winnow
