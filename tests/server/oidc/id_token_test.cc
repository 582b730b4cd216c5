// Which ID tokens are believed.

#include "server/oidc/id_token.h"

#include <cjose/cjose.h>
#include <openssl/hmac.h>

#include <cstdlib>
#include <functional>

#include "absl/strings/escaping.h"
#include "tests/catch.h"

namespace winnow {
namespace {

using nlohmann::json;

constexpr int64_t kNow = 1'800'000'000;

// A provider's key, and tokens signed with it.
class Signer {
 public:
  Signer(const std::string& id, const std::string& algorithm, size_t bits = 2048) : algorithm_(algorithm) {
    cjose_err error;
    jwk_ = algorithm == "ES256" ? cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, &error)
                                : cjose_jwk_create_RSA_random(bits, kExponent, sizeof kExponent, &error);
    REQUIRE(jwk_ != nullptr);
    if (!id.empty()) REQUIRE(cjose_jwk_set_kid(jwk_, id.data(), id.size(), &error));
    id_ = id;
  }
  ~Signer() { cjose_jwk_release(jwk_); }
  Signer(const Signer&) = delete;
  Signer& operator=(const Signer&) = delete;

  // With its private part.
  json Jwk() const {
    cjose_err error;
    char* text = cjose_jwk_to_json(jwk_, true, &error);
    json jwk = json::parse(text);
    std::free(text);
    return jwk;
  }

  std::string Sign(const json& claims, const json& more = json::object()) const {
    cjose_err error;
    cjose_header_t* header = cjose_header_new(&error);
    cjose_header_set(header, "alg", algorithm_.c_str(), &error);
    if (!id_.empty()) cjose_header_set(header, "kid", id_.c_str(), &error);
    for (const auto& [name, value] : more.items())
      cjose_header_set_raw(header, name.c_str(), value.dump().c_str(), &error);
    const std::string text = claims.dump();
    cjose_jws_t* jws =
        cjose_jws_sign(jwk_, header, reinterpret_cast<const uint8_t*>(text.data()), text.size(), &error);
    REQUIRE(jws != nullptr);
    const char* compact = nullptr;
    REQUIRE(cjose_jws_export(jws, &compact, &error));
    std::string token(compact);
    cjose_jws_release(jws);
    cjose_header_release(header);
    return token;
  }

 private:
  static constexpr uint8_t kExponent[] = {1, 0, 1};
  const std::string algorithm_;
  cjose_jwk_t* jwk_ = nullptr;
  std::string id_;
};

OidcKeys KeysOf(const std::vector<json>& jwks) {
  const absl::StatusOr<OidcKeys> keys = OidcKeys::Parse(json{{"keys", jwks}});
  REQUIRE(keys.ok());
  return *keys;
}

const IdTokenRules kRules{"https://id.example", "winnow", "n-0S6", kNow};

json GoodClaims() {
  return {{"iss", "https://id.example"}, {"sub", "248289761001"}, {"aud", "winnow"}, {"nonce", "n-0S6"},
          {"exp", kNow + 300},           {"iat", kNow - 5}};
}

std::string Base64(const std::string& text) { return absl::WebSafeBase64Escape(text); }

std::string Message(const absl::StatusOr<json>& checked) {
  return std::string(checked.status().message().data(), checked.status().message().size());
}

}  // namespace

TEST_CASE("ID token: RS256 and ES256 are verified, with and without a key's id", "[oidc]") {
  for (const char* algorithm : {"RS256", "ES256"}) {
    for (const char* id : {"", "a"}) {
      const Signer signer(id, algorithm);
      const Signer other("b", algorithm);
      const auto claims =
          CheckIdToken(signer.Sign(GoodClaims()), KeysOf({other.Jwk(), signer.Jwk()}), kRules);
      INFO(algorithm << " " << claims.status());
      REQUIRE(claims.ok());
      CHECK((*claims)["sub"] == "248289761001");
      CHECK(
          absl::IsNotFound(CheckIdToken(signer.Sign(GoodClaims()), KeysOf({other.Jwk()}), kRules).status()));
    }
  }
}

TEST_CASE("ID token: what was changed, or signed by nobody or with a public key as a secret, is refused",
          "[oidc]") {
  const Signer signer("a", "RS256");
  const OidcKeys keys = KeysOf({signer.Jwk()});
  const std::string token = signer.Sign(GoodClaims());
  const std::string signature = token.substr(token.rfind('.') + 1);
  json admin = GoodClaims();
  admin["sub"] = "1";
  const std::string header = token.substr(0, token.find('.'));
  CHECK(absl::IsNotFound(
      CheckIdToken(header + "." + Base64(admin.dump()) + "." + signature, keys, kRules).status()));
  for (const char* none : {"none", "None", "NONE", ""}) {
    const std::string start =
        Base64(json{{"alg", none}, {"kid", "a"}}.dump()) + "." + Base64(admin.dump()) + ".";
    for (const std::string& end : {std::string(), signature})
      CHECK(absl::IsPermissionDenied(CheckIdToken(start + end, keys, kRules).status()));
  }
  const std::string secret = signer.Jwk()["n"];
  const std::string start = Base64(json{{"alg", "HS256"}, {"kid", "a"}}.dump()) + "." + Base64(admin.dump());
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(start.data()), start.size(), mac, &length);
  const std::string hs256 = start + "." + Base64(std::string(reinterpret_cast<char*>(mac), length));
  CHECK_THAT(Message(CheckIdToken(hs256, keys, kRules)), Catch::Contains("neither RS256 nor ES256"));
  for (const std::string& odd : {std::string(), std::string("."), std::string("a.b.c"), std::string("..."),
                                 header + "." + signature, std::string(100'000, 'a'), token + ".x"})
    CHECK_FALSE(CheckIdToken(odd, keys, kRules).ok());
  CHECK_THAT(Message(CheckIdToken(signer.Sign(GoodClaims(), {{"crit", {"x"}}, {"x", true}}), keys, kRules)),
             Catch::Contains("crit"));
}

TEST_CASE("ID token: keys that are short, private, for encryption or of another algorithm verify nothing",
          "[oidc]") {
  const Signer signer("a", "RS256");
  const std::string token = signer.Sign(GoodClaims());
  const auto verified = [&](const std::function<void(json&)>& change) {
    json jwk = signer.Jwk();
    change(jwk);
    return CheckIdToken(token, KeysOf({jwk}), kRules).ok();
  };
  CHECK(verified([](json&) {}));
  CHECK(verified([](json& jwk) { jwk["use"] = "sig"; }));
  CHECK_FALSE(verified([](json& jwk) { jwk["use"] = "enc"; }));
  CHECK_FALSE(verified([](json& jwk) { jwk["alg"] = "PS256"; }));
  CHECK_FALSE(verified([](json& jwk) { jwk["kty"] = "oct"; }));
  CHECK_FALSE(verified([](json& jwk) { jwk["n"] = "AQAB"; }));
  CHECK_FALSE(verified([](json& jwk) { jwk = "a key"; }));
  CHECK(KeysOf({Signer("s", "RS256", 1024).Jwk()}).all().empty());
  CHECK_FALSE(OidcKeys::Parse(json::array()).ok());
  CHECK_FALSE(OidcKeys::Parse({{"keys", 1}}).ok());
}

TEST_CASE("ID token: each claim that is wrong or missing is named", "[oidc]") {
  const Signer signer("a", "ES256");
  const OidcKeys keys = KeysOf({signer.Jwk()});
  const auto why = [&](const std::function<void(json&)>& change) {
    json claims = GoodClaims();
    change(claims);
    return Message(CheckIdToken(signer.Sign(claims), keys, kRules));
  };
  const auto set = [](const char* name, const json& value) {
    return [name, value](json& claims) { claims[name] = value; };
  };
  const auto drop = [](const char* name) { return [name](json& claims) { claims.erase(name); }; };
  const auto says = [](const char* text) { return Catch::Contains(text); };
  CHECK(why([](json&) {}).empty());
  CHECK_THAT(why(set("iss", "https://id.example/")), says("iss"));
  CHECK_THAT(why(drop("iss")), says("iss"));
  CHECK_THAT(why(set("sub", "")), says("sub"));
  CHECK_THAT(why(set("sub", 7)), says("sub"));
  CHECK_THAT(why(set("sub", std::string(256, 'a'))), says("sub"));
  CHECK_THAT(why(set("aud", "another")), says("aud"));
  CHECK_THAT(why(set("aud", json::array())), says("aud"));
  CHECK_THAT(why(drop("aud")), says("aud"));
  CHECK(why(set("aud", json{"winnow"})).empty());
  CHECK_THAT(why(set("aud", json{"winnow", "another"})), says("azp"));
  CHECK_THAT(why(set("azp", "another")), says("azp"));
  CHECK(why([](json& claims) {
          claims["aud"] = {"another", "winnow"};
          claims["azp"] = "winnow";
        }).empty());
  CHECK_THAT(why(set("nonce", "n-0S7")), says("nonce"));
  CHECK_THAT(why(drop("nonce")), says("nonce"));
  CHECK_THAT(why(drop("exp")), says("exp"));
  CHECK_THAT(why(set("exp", "1800000300")), says("exp"));
  CHECK_THAT(why(set("exp", kNow - kClockTolerance)), says("exp"));
  CHECK(why(set("exp", kNow - kClockTolerance + 1)).empty());
  CHECK_THAT(why(drop("iat")), says("iat"));
  CHECK_THAT(why(set("iat", kNow + kClockTolerance + 1)), says("iat"));
  CHECK(why(set("iat", kNow + kClockTolerance)).empty());
  CHECK_THAT(why(set("nbf", kNow + kClockTolerance + 1)), says("nbf"));
  CHECK_THAT(why(set("nbf", "now")), says("nbf"));
  CHECK(why(set("nbf", kNow)).empty());
}

}  // namespace winnow
