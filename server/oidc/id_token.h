#pragma once

#include <cjose/jwk.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

// The keys with which a provider signs: those of its JWK set that fit RS256 (2048 to 8192 bits) or ES256. All
// others are left out, and so are private parts.
class OidcKeys {
 public:
  // No keys.
  OidcKeys() = default;
  // INVALID_ARGUMENT: it is not a JWK set.
  static absl::StatusOr<OidcKeys> Parse(const nlohmann::json& set);

  struct Key {
    std::string id;         // "kid"; "": none
    std::string algorithm;  // RS256 or ES256
    std::shared_ptr<cjose_jwk_t> jwk;
  };
  const std::vector<Key>& all() const { return keys_; }

 private:
  std::vector<Key> keys_;
};

// What an ID token must say.
struct IdTokenRules {
  std::string issuer;
  std::string client;  // its audience
  std::string nonce;   // "": none was sent
  int64_t now_s = 0;   // since the Unix epoch
};

// The tolerance for clocks that differ, in seconds.
inline constexpr int64_t kClockTolerance = 60;

// Checks the signature and the claims of an ID token (OpenID Connect Core, 3.1.3.7) and returns the claims.
// NOT_FOUND: no key verifies the signature, which newer keys may. PERMISSION_DENIED names anything else that
// is wrong, without the token.
absl::StatusOr<nlohmann::json> CheckIdToken(const std::string& token, const OidcKeys& keys,
                                            const IdTokenRules& rules);

}  // namespace winnow
