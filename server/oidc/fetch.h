#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/oidc/settings.h"

namespace winnow {

// The fields of a form.
using OidcForm = std::vector<std::pair<std::string, std::string>>;

// "a=b&c=d", as application/x-www-form-urlencoded.
std::string EncodeForm(const OidcForm& form);

// A request to a provider.
struct OidcRequest {
  std::string url;
  OidcForm form = {};                 // POST; empty: GET
  const OidcClient* basic = nullptr;  // says who asks by client_secret_basic
  std::string bearer = {};            // an access token
};

struct OidcAnswer {
  int status = 0;
  std::string body;
};

// Sends it and waits for the answer, of any status, at most ten seconds. Follows no redirection. UNAVAILABLE
// names the host and the reason; it ends so when `stop` becomes true.
absl::StatusOr<OidcAnswer> FetchOidc(const OidcRequest& request, const std::string& tls_ca,
                                     const std::atomic<bool>& stop);

}  // namespace winnow
