#include "server/oidc/provider.h"

#include <fmt/format.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "base/status_text.h"
#include "server/oidc/claims.h"

namespace winnow {
namespace {

using Json = nlohmann::json;

constexpr int64_t kPlaceLife = 3600;
constexpr int64_t kKeysLife = 3600;
// Newer keys are asked for at most this often, however many tokens are signed by unknown ones.
constexpr int64_t kKeysAgain = 5;
constexpr int64_t kLeastInterval = 1;
constexpr int64_t kMostInterval = 60;
constexpr int64_t kMostExpiry = 3600;
constexpr char kDeviceGrant[] = "urn:ietf:params:oauth:grant-type:device_code";
constexpr size_t kLongestCode = 4096;
constexpr size_t kLongestShown = 512;

int64_t WholeOf(const Json& object, const char* name, int64_t otherwise) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : otherwise;
}

bool Lists(const Json& object, const char* name, const char* word) {
  const auto found = object.find(name);
  return found != object.end() && found->is_array() &&
         std::find(found->begin(), found->end(), Json(word)) != found->end();
}

absl::Status Odd(const std::string& what) {
  return absl::UnavailableError("the provider does not answer as OpenID Connect says: " + what);
}

// An error's word (RFC 6749, 5.2), for the log; it may have only letters of an identifier.
std::string ErrorWord(const OidcAnswer& answer) {
  const Json json = Json::parse(answer.body, nullptr, false);
  std::string word = json.is_object() ? TextOf(json, "error") : "";
  const bool plain = !word.empty() && word.size() <= 64 &&
                     word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
  return plain ? word : fmt::format("status {}", answer.status);
}

// Why it did not give tokens. UNAVAILABLE: it, or a proxy before it, says that it cannot at this moment.
absl::Status NotGiven(const OidcAnswer& answer, const char* what) {
  constexpr int kTooManyRequests = 429, kServerErrors = 500;
  if (answer.status >= kServerErrors || answer.status == kTooManyRequests)
    return absl::UnavailableError(
        fmt::format("the provider cannot check {} at this moment: {}", what, ErrorWord(answer)));
  return absl::PermissionDeniedError(
      fmt::format("the provider does not accept {}: {}", what, ErrorWord(answer)));
}

// The base64url of a hash has no padding here (RFC 7636).
std::string ChallengeOf(const std::string& verifier) {
  std::string hash(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(verifier.data()), verifier.size(),
         reinterpret_cast<unsigned char*>(hash.data()));
  return absl::WebSafeBase64Escape(hash);
}

bool IsPrintable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// What a terminal may show.
bool IsShown(const std::string& text) { return text.size() <= kLongestShown && IsPrintable(text); }

bool IsHeaderValue(const std::string& text) { return !text.empty() && IsPrintable(text); }

}  // namespace

absl::StatusOr<std::string> RandomText() {
  std::string bytes(32, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) != 1)
    return absl::InternalError("the system provides no random bytes");
  return absl::WebSafeBase64Escape(bytes);
}

OidcProvider::OidcProvider(OidcSettings settings, int64_t (*now_s)())
    : settings_(std::move(settings)), now_s_(now_s), own_url_(settings_.own_url) {}

void OidcProvider::SetOwnUrl(const std::string& url) {
  MutexLock lock(mutex_);
  if (own_url_.empty()) own_url_ = url;
}

std::string OidcProvider::own_url() {
  MutexLock lock(mutex_);
  return own_url_;
}

absl::StatusOr<Json> OidcProvider::GetJson(const OidcRequest& request) {
  const absl::StatusOr<OidcAnswer> answer = FetchOidc(request, settings_.tls_ca, stopping_);
  if (!answer.ok()) return answer.status();
  if (answer->status != 200) return Odd(fmt::format("{} has status {}", request.url, answer->status));
  Json json = Json::parse(answer->body, nullptr, false);
  if (!json.is_object()) return Odd(fmt::format("{} is not a JSON object", request.url));
  return json;
}

absl::Status OidcProvider::Reach() { return Discover().status(); }

absl::StatusOr<OidcProvider::Place> OidcProvider::Discover() {
  {
    MutexLock lock(mutex_);
    if (place_ && now_s_() < place_until_s_) return *place_;
  }
  const std::string base = settings_.issuer.ends_with('/')
                               ? settings_.issuer.substr(0, settings_.issuer.size() - 1)
                               : settings_.issuer;
  const absl::StatusOr<Json> json = GetJson({.url = base + "/.well-known/openid-configuration"});
  if (!json.ok()) return json.status();
  if (TextOf(*json, "issuer") != settings_.issuer) {
    const std::string other = TextOf(*json, "issuer");
    return Odd(fmt::format("its discovery document is of issuer \"{}\"; expected \"{}\", as --oidc-issuer",
                           IsShown(other) ? other : "", settings_.issuer));
  }
  Place place;
  const std::vector<std::pair<const char*, std::string*>> urls = {
      {"authorization_endpoint", &place.authorization},
      {"token_endpoint", &place.token},
      {"jwks_uri", &place.keys},
      {"userinfo_endpoint", &place.userinfo},
      {"device_authorization_endpoint", &place.device}};
  for (const auto& [name, url] : urls) {
    *url = TextOf(*json, name);
    const bool optional = url == &place.userinfo || url == &place.device;
    if (url->empty() && optional) continue;
    if (absl::Status status = CheckOidcUrl(*url); !status.ok())
      return Odd(fmt::format("its {}: {}", name, MessageOf(status)));
  }
  constexpr char kMethods[] = "token_endpoint_auth_methods_supported";
  place.basic = !json->contains(kMethods) || Lists(*json, kMethods, "client_secret_basic");
  place.says_issuer = json->value("authorization_response_iss_parameter_supported", Json()) == Json(true);
  MutexLock lock(mutex_);
  place_ = place;
  place_until_s_ = now_s_() + kPlaceLife;
  return place;
}

absl::StatusOr<OidcKeys> OidcProvider::Keys(const Place& place, bool newer) {
  {
    MutexLock lock(mutex_);
    const int64_t now_s = now_s_();
    const bool fresh = newer ? now_s - newer_since_s_ < kKeysAgain : now_s - keys_since_s_ < kKeysLife;
    if (keys_ && fresh) return *keys_;
    if (newer) newer_since_s_ = now_s;
  }
  const absl::StatusOr<Json> json = GetJson({.url = place.keys});
  if (!json.ok()) return json.status();
  absl::StatusOr<OidcKeys> keys = OidcKeys::Parse(*json);
  if (!keys.ok()) return Odd(MessageOf(keys.status()));
  MutexLock lock(mutex_);
  keys_ = *keys;
  keys_since_s_ = now_s_();
  return keys;
}

absl::StatusOr<std::string> OidcProvider::AuthorizationUrl(const std::string& state,
                                                           const CodeBinding& binding) {
  const absl::StatusOr<Place> place = Discover();
  if (!place.ok()) return place.status();
  const std::string query = EncodeForm({{"response_type", "code"},
                                        {"client_id", settings_.client.id},
                                        {"redirect_uri", redirect_url()},
                                        {"scope", settings_.scopes},
                                        {"state", state},
                                        {"nonce", binding.nonce},
                                        {"code_challenge", ChallengeOf(binding.verifier)},
                                        {"code_challenge_method", "S256"}});
  const char joint = place->authorization.find('?') == std::string::npos ? '?' : '&';
  return place->authorization + joint + query;
}

absl::StatusOr<OidcAnswer> OidcProvider::Send(const Place& place, const std::string& url,
                                              const OidcClient& client, OidcForm form) {
  OidcRequest request{.url = url, .form = std::move(form)};
  if (!client.secret.empty() && place.basic) {
    request.basic = &client;
  } else {
    request.form.emplace_back("client_id", client.id);
    if (!client.secret.empty()) request.form.emplace_back("client_secret", client.secret);
  }
  return FetchOidc(request, settings_.tls_ca, stopping_);
}

absl::StatusOr<OidcPerson> OidcProvider::PersonOf(const Place& place, const OidcClient& client,
                                                  const Json& tokens, const std::string& nonce) {
  const std::string token = TextOf(tokens, "id_token");
  if (token.empty()) return Odd("it gave no ID token; do the scopes have openid?");
  const IdTokenRules rules{settings_.issuer, client.id, nonce, now_s_()};
  absl::StatusOr<Json> claims = absl::NotFoundError("");
  for (const bool newer : {false, true}) {
    if (!absl::IsNotFound(claims.status())) break;
    const absl::StatusOr<OidcKeys> keys = Keys(place, newer);
    if (!keys.ok()) return keys.status();
    claims = CheckIdToken(token, *keys, rules);
  }
  if (absl::IsNotFound(claims.status())) return absl::PermissionDeniedError(claims.status().message());
  if (!claims.ok()) return claims.status();
  const std::string access = TextOf(tokens, "access_token");
  if (!HasNeededClaims(*claims, settings_) && !place.userinfo.empty() && IsHeaderValue(access)) {
    const absl::StatusOr<Json> more = GetJson({.url = place.userinfo, .bearer = access});
    if (!more.ok()) return more.status();
    if (TextOf(*more, "sub") != TextOf(*claims, "sub"))
      return absl::PermissionDeniedError("the provider's userinfo is of another person (sub)");
    for (const auto& [name, value] : more->items()) {
      if (!claims->contains(name)) (*claims)[name] = value;  // what was signed counts
    }
  }
  return ReadPerson(*claims, settings_);
}

absl::StatusOr<OidcPerson> OidcProvider::Redeem(const std::string& code, const std::string& issuer,
                                                const CodeBinding& binding) {
  const absl::StatusOr<Place> place = Discover();
  if (!place.ok()) return place.status();
  if (issuer.empty() ? place->says_issuer : issuer != settings_.issuer)
    return absl::PermissionDeniedError("the code is of another provider (iss)");
  if (code.empty() || code.size() > kLongestCode) return absl::PermissionDeniedError("there is no code");
  const absl::StatusOr<OidcAnswer> answer = Send(*place, place->token, settings_.client,
                                                 {{"grant_type", "authorization_code"},
                                                  {"code", code},
                                                  {"redirect_uri", redirect_url()},
                                                  {"code_verifier", binding.verifier}});
  if (!answer.ok()) return answer.status();
  if (answer->status != 200) return NotGiven(*answer, "the code");
  const Json tokens = Json::parse(answer->body, nullptr, false);
  if (!tokens.is_object()) return Odd("its tokens are not a JSON object");
  return PersonOf(*place, settings_.client, tokens, binding.nonce);
}

absl::StatusOr<DeviceGrant> OidcProvider::BeginDevice() {
  const absl::StatusOr<Place> place = Discover();
  if (!place.ok()) return place.status();
  if (place->device.empty()) {
    return absl::FailedPreconditionError(fmt::format(
        "the provider {} has no device logins (device_authorization_endpoint)", settings_.issuer));
  }
  const absl::StatusOr<OidcAnswer> answer =
      Send(*place, place->device, settings_.device_client(), {{"scope", settings_.scopes}});
  if (!answer.ok()) return answer.status();
  if (answer->status != 200) {
    return absl::FailedPreconditionError("the provider does not begin a device login: " + ErrorWord(*answer));
  }
  const Json json = Json::parse(answer->body, nullptr, false);
  if (!json.is_object()) return Odd("its answer is not a JSON object");
  DeviceGrant grant;
  grant.device_code = TextOf(json, "device_code");
  grant.user_code = TextOf(json, "user_code");
  grant.url = TextOf(json, json.contains("verification_uri") ? "verification_uri" : "verification_url");
  grant.complete_url = TextOf(json, "verification_uri_complete");
  grant.expires_s = std::clamp<int64_t>(WholeOf(json, "expires_in", 0), 0, kMostExpiry);
  grant.interval_s = std::clamp(WholeOf(json, "interval", grant.interval_s), kLeastInterval, kMostInterval);
  const bool whole = !grant.device_code.empty() && grant.device_code.size() <= kLongestCode &&
                     !grant.user_code.empty() && grant.expires_s > 0;
  if (!whole || !IsShown(grant.user_code) || !IsShown(grant.url) || !IsShown(grant.complete_url) ||
      !CheckOidcUrl(grant.url).ok()) {
    return Odd("its device login lacks a code or a URL");
  }
  return grant;
}

absl::StatusOr<DeviceAnswer> OidcProvider::PollDevice(const std::string& device_code) {
  const absl::StatusOr<Place> place = Discover();
  if (!place.ok()) return place.status();
  const OidcClient& client = settings_.device_client();
  const absl::StatusOr<OidcAnswer> answer =
      Send(*place, place->token, client, {{"grant_type", kDeviceGrant}, {"device_code", device_code}});
  if (!answer.ok()) return answer.status();
  if (answer->status != 200) {
    const std::string word = ErrorWord(*answer);
    if (word == "authorization_pending") return DeviceAnswer{};
    if (word == "slow_down") return DeviceAnswer{.person = std::nullopt, .slow_down = true};
    if (word == "expired_token") return absl::DeadlineExceededError("the code has expired");
    if (word == "access_denied")
      return absl::PermissionDeniedError("the sign-in was declined at the provider");
    return NotGiven(*answer, "the device login");
  }
  const Json tokens = Json::parse(answer->body, nullptr, false);
  if (!tokens.is_object()) return Odd("its tokens are not a JSON object");
  absl::StatusOr<OidcPerson> person = PersonOf(*place, client, tokens, "");
  if (!person.ok()) return person.status();
  return DeviceAnswer{.person = *std::move(person)};
}

}  // namespace winnow
