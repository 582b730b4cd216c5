#include "server/oidc/id_token.h"

#include <cjose/cjose.h>
#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <optional>

#include "absl/strings/escaping.h"
#include "server/oidc/claims.h"

namespace winnow {
namespace {

using Json = nlohmann::json;

constexpr size_t kLongestToken = 64 << 10;
constexpr size_t kMostKeys = 100;
constexpr size_t kLeastModulus = 256;  // bytes
constexpr size_t kLongestModulus = 1024;
constexpr size_t kLongestSubject = 255;
constexpr char kRs256[] = "RS256";
constexpr char kEs256[] = "ES256";

absl::Status Refused(const std::string& why) {
  return absl::PermissionDeniedError("the provider's ID token is refused: " + why);
}

// Absent if there is none, or if it is not a number.
std::optional<double> NumberOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

// How many bytes the number has that is written in base64url; 0: it is none.
size_t BytesOf(const std::string& base64) {
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(base64, &bytes)) return 0;
  const size_t zeros = bytes.find_first_not_of('\0');
  return zeros == std::string::npos ? 0 : bytes.size() - zeros;
}

// The public part of a key that may sign ID tokens; absent: it is another key.
std::optional<OidcKeys::Key> ReadKey(const Json& jwk) {
  if (!jwk.is_object()) return std::nullopt;
  if (jwk.contains("use") && TextOf(jwk, "use") != "sig") return std::nullopt;
  OidcKeys::Key key;
  key.id = TextOf(jwk, "kid");
  Json open = {{"kty", TextOf(jwk, "kty")}};
  const auto take = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) open[name] = TextOf(jwk, name);
  };
  if (open["kty"] == "RSA") {
    key.algorithm = kRs256;
    take({"n", "e"});
    const size_t bytes = BytesOf(open["n"]);
    if (bytes < kLeastModulus || bytes > kLongestModulus) return std::nullopt;
  } else if (open["kty"] == "EC" && TextOf(jwk, "crv") == "P-256") {
    key.algorithm = kEs256;
    take({"crv", "x", "y"});
  } else {
    return std::nullopt;
  }
  if (jwk.contains("alg") && TextOf(jwk, "alg") != key.algorithm) return std::nullopt;
  const std::string text = open.dump(-1, ' ', false, Json::error_handler_t::replace);
  cjose_err error;
  cjose_jwk_t* imported = cjose_jwk_import(text.data(), text.size(), &error);
  if (imported == nullptr) return std::nullopt;
  key.jwk = std::shared_ptr<cjose_jwk_t>(imported, [](cjose_jwk_t* one) { cjose_jwk_release(one); });
  return key;
}

struct JwsEnd {
  void operator()(cjose_jws_t* jws) const { cjose_jws_release(jws); }
};

std::string HeaderText(cjose_header_t* header, const char* name) {
  cjose_err error;
  const char* text = cjose_header_get(header, name, &error);
  return text == nullptr ? "" : text;
}

bool HasHeader(cjose_header_t* header, const char* name) {
  cjose_err error;
  char* raw = cjose_header_get_raw(header, name, &error);
  const bool has = raw != nullptr;
  std::free(raw);
  return has;
}

bool SameText(const std::string& one, const std::string& other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

absl::Status CheckAudience(const Json& claims, const std::string& client) {
  const Json audience = claims.value("aud", Json());
  std::vector<Json> all;
  if (audience.is_array()) {
    all.assign(audience.begin(), audience.end());
  } else {
    all.push_back(audience);
  }
  if (std::find(all.begin(), all.end(), Json(client)) == all.end())
    return Refused("it is for another client (aud)");
  if (!claims.contains("azp"))
    return all.size() == 1 ? absl::OkStatus()
                           : Refused("it has several audiences, and no authorized party (azp)");
  return TextOf(claims, "azp") == client ? absl::OkStatus()
                                         : Refused("it was issued to another client (azp)");
}

absl::Status CheckTimes(const Json& claims, int64_t now_s) {
  const std::optional<double> expires = NumberOf(claims, "exp");
  const std::optional<double> issued = NumberOf(claims, "iat");
  if (!expires) return Refused("it does not say when it expires (exp)");
  if (!issued) return Refused("it does not say when it was issued (iat)");
  const auto latest = static_cast<double>(now_s + kClockTolerance);
  if (*expires <= static_cast<double>(now_s - kClockTolerance)) return Refused("it has expired (exp)");
  if (*issued > latest) return Refused("it was issued in the future (iat); do the clocks agree?");
  if (claims.contains("nbf")) {
    const std::optional<double> begins = NumberOf(claims, "nbf");
    if (!begins || *begins > latest) return Refused("it is not valid yet (nbf); do the clocks agree?");
  }
  return absl::OkStatus();
}

absl::Status CheckClaims(const Json& claims, const IdTokenRules& rules) {
  if (TextOf(claims, "iss") != rules.issuer) return Refused("another provider issued it (iss)");
  const std::string subject = TextOf(claims, "sub");
  if (subject.empty() || subject.size() > kLongestSubject) return Refused("it names no subject (sub)");
  if (absl::Status status = CheckAudience(claims, rules.client); !status.ok()) return status;
  if (absl::Status status = CheckTimes(claims, rules.now_s); !status.ok()) return status;
  if (!rules.nonce.empty() && !SameText(TextOf(claims, "nonce"), rules.nonce))
    return Refused("it is of another sign-in (nonce)");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OidcKeys> OidcKeys::Parse(const Json& set) {
  if (!set.is_object() || !set.contains("keys") || !set["keys"].is_array())
    return absl::InvalidArgumentError("it is not a JWK set: expected an object with an array \"keys\"");
  OidcKeys keys;
  for (const Json& jwk : set["keys"]) {
    if (keys.keys_.size() == kMostKeys) break;
    if (std::optional<Key> key = ReadKey(jwk)) keys.keys_.push_back(*std::move(key));
  }
  return keys;
}

absl::StatusOr<Json> CheckIdToken(const std::string& token, const OidcKeys& keys, const IdTokenRules& rules) {
  if (token.size() > kLongestToken) return Refused("it is too long");
  cjose_err error;
  const std::unique_ptr<cjose_jws_t, JwsEnd> jws(cjose_jws_import(token.data(), token.size(), &error));
  if (jws == nullptr) return Refused("it is not a signed token");
  cjose_header_t* const header = cjose_jws_get_protected(jws.get());
  const std::string algorithm = HeaderText(header, CJOSE_HDR_ALG);
  if (algorithm != kRs256 && algorithm != kEs256)
    return Refused("its signature's algorithm (alg) is neither RS256 nor ES256");
  if (HasHeader(header, "crit")) return Refused("it has an extension that must be understood (crit)");
  const std::string id = HeaderText(header, CJOSE_HDR_KID);
  const bool verified = std::any_of(keys.all().begin(), keys.all().end(), [&](const OidcKeys::Key& key) {
    if (key.algorithm != algorithm || (!id.empty() && key.id != id)) return false;
    return cjose_jws_verify(jws.get(), key.jwk.get(), &error);
  });
  if (!verified) {
    return absl::NotFoundError(
        "the provider's ID token is refused: none of the provider's keys has signed it");
  }
  uint8_t* bytes = nullptr;
  size_t length = 0;
  if (!cjose_jws_get_plaintext(jws.get(), &bytes, &length, &error)) return Refused("it has no claims");
  Json claims = Json::parse(bytes, bytes + length, nullptr, false);
  if (!claims.is_object()) return Refused("its claims are not a JSON object");
  if (absl::Status status = CheckClaims(claims, rules); !status.ok()) return status;
  return claims;
}

}  // namespace winnow
