#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "server/oidc/settings.h"

namespace winnow {

// Who a provider says has signed in.
struct OidcPerson {
  std::string issuer;
  std::string subject;   // the provider's own name for them, which never changes
  std::string name;      // what their tokens are called
  bool granted = false;  // the settings give this name to this subject
  std::string role;      // viewer, submitter or admin; "": of who is refused
  // The projects of the settings, and whether the person is in their groups.
  std::vector<std::pair<std::string, bool>> projects;
  std::string refused;  // why they are not let in, for the log; "": they are
};

// The value of a claim: of that name or, if `path` begins with '/', at that JSON pointer. Null: there is
// none.
const nlohmann::json* FindClaim(const nlohmann::json& claims, const std::string& path);

// Whether all claims that the settings need are there; otherwise the provider's userinfo may have them.
bool HasNeededClaims(const nlohmann::json& claims, const OidcSettings& settings);

// Reads who it is from claims that were checked, and whether the settings let them in.
OidcPerson ReadPerson(const nlohmann::json& claims, const OidcSettings& settings);

}  // namespace winnow
