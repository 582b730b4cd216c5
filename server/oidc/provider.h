#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "server/oidc/fetch.h"
#include "server/oidc/id_token.h"
#include "server/oidc/person.h"
#include "server/oidc/settings.h"

namespace winnow {

// 32 random bytes as 43 characters of base64url. INTERNAL: the system has none.
absl::StatusOr<std::string> RandomText();

// Binds an authorization code to whoever asked for it (RFC 7636, OpenID Connect's nonce).
struct CodeBinding {
  std::string verifier;
  std::string nonce;
};

// A device login that a person is to confirm at the provider (RFC 8628).
struct DeviceGrant {
  std::string device_code;  // secret
  std::string user_code;
  std::string url;
  std::string complete_url;  // has the code in it; "": there is none
  int64_t expires_s = 0;     // from now
  int64_t interval_s = 5;
};

// What the provider says of a device login.
struct DeviceAnswer {
  std::optional<OidcPerson> person;  // absent: not confirmed yet
  bool slow_down = false;
};

// An OpenID Connect provider, as its discovery document describes it. All calls block, for at most some tens
// of seconds. UNAVAILABLE: the provider does not answer, or not as it should; FAILED_PRECONDITION: it does
// not have what is asked for; PERMISSION_DENIED: who asks is not let in. Thread-safe.
class OidcProvider {
 public:
  // `now_s`: seconds since the Unix epoch.
  OidcProvider(OidcSettings settings, int64_t (*now_s)());

  // Where browsers reach this server's page, if the settings do not say it.
  void SetOwnUrl(const std::string& url);
  std::string own_url();
  // Where the provider sends browsers back to.
  std::string redirect_url() { return own_url() + "/sign-in/callback"; }

  // OK: its discovery document was read.
  absl::Status Reach();
  // The URL that a browser is sent to.
  absl::StatusOr<std::string> AuthorizationUrl(const std::string& state, const CodeBinding& binding);
  // Whom the code stands for. `issuer`: the parameter "iss" that came with it; "": none.
  absl::StatusOr<OidcPerson> Redeem(const std::string& code, const std::string& issuer,
                                    const CodeBinding& binding);
  absl::StatusOr<DeviceGrant> BeginDevice();
  // DEADLINE_EXCEEDED: the login has expired.
  absl::StatusOr<DeviceAnswer> PollDevice(const std::string& device_code);

  // Calls end soon, and so do later ones.
  void Stop() { stopping_ = true; }
  const OidcSettings& settings() const { return settings_; }

 private:
  struct Place {  // the discovery document
    std::string authorization, token, keys, userinfo, device;
    bool basic = true;         // client_secret_basic rather than client_secret_post
    bool says_issuer = false;  // codes come with "iss" (RFC 9207)
  };
  absl::StatusOr<nlohmann::json> GetJson(const OidcRequest& request);
  absl::StatusOr<Place> Discover();
  absl::StatusOr<OidcKeys> Keys(const Place& place, bool newer);
  // Sends a form as the client.
  absl::StatusOr<OidcAnswer> Send(const Place& place, const std::string& url, const OidcClient& client,
                                  OidcForm form);
  absl::StatusOr<OidcPerson> PersonOf(const Place& place, const OidcClient& client,
                                      const nlohmann::json& tokens, const std::string& nonce);

  const OidcSettings settings_;
  int64_t (*const now_s_)();
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  std::string own_url_ ABSL_GUARDED_BY(mutex_);
  std::optional<Place> place_ ABSL_GUARDED_BY(mutex_);
  int64_t place_until_s_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<OidcKeys> keys_ ABSL_GUARDED_BY(mutex_);
  int64_t keys_since_s_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t newer_since_s_ ABSL_GUARDED_BY(mutex_) = 0;  // when newer keys were last asked for
};

}  // namespace winnow
