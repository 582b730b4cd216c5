#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace winnow {

// What an OpenID Connect provider knows this server as.
struct OidcClient {
  std::string id;
  std::string secret_file;  // "": a public client
  std::string secret;       // read from the file
};

// Who may sign in with which provider, and as whom.
struct OidcSettings {
  std::string issuer;  // "": nobody signs in with OpenID Connect
  OidcClient client;
  OidcClient device;   // of device logins; without an id: `client`
  std::string tls_ca;  // file of certificate authorities (PEM); "": the system's
  std::string
      own_url;  // of this server's page, as browsers reach it: "https://tuner.example"; "": its address
  std::string scopes = "openid email profile";
  std::string name_claim = "email";
  std::string groups_claim = "groups";
  std::vector<std::string> roles;     // "ROLE=GROUP"
  std::string default_role;           // "": who has no role by a group is refused
  std::vector<std::string> domains;   // of verified e-mail addresses; empty: any
  std::vector<std::string> groups;    // one of which a person must be in; empty: none is needed
  std::vector<std::string> projects;  // "PROJECT=GROUP"
  std::vector<std::string> persons;   // "NAME=SUBJECT"
  double hours = 12;                  // until a person must sign in again

  bool used() const { return !issuer.empty(); }
  const OidcClient& device_client() const { return device.id.empty() ? client : device; }
};

// The two parts of "ROLE=GROUP"; a part may have no '='. The second is "" without a '='.
struct OidcPair {
  std::string first, second;
};
OidcPair SplitOidcPair(const std::string& text);

// Reads the secrets, and checks the rest. INVALID_ARGUMENT names the flag, its value and what was expected.
absl::Status ReadOidcSettings(OidcSettings& settings);

// OK if secrets may be sent to this URL: https, or http to this machine. INVALID_ARGUMENT: what is wrong with
// it.
absl::Status CheckOidcUrl(const std::string& url);

}  // namespace winnow
