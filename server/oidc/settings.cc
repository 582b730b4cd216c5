#include "server/oidc/settings.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>

#include "base/read_file.h"
#include "base/status_text.h"
#include "rpc/address.h"

namespace winnow {
namespace {

constexpr size_t kLongestSecret = 4096;

absl::Status Wrong(std::string_view flag, const std::string& value, std::string_view expected) {
  return absl::InvalidArgumentError(fmt::format("{}: \"{}\": expected {}", flag, value, expected));
}

absl::Status ReadSecret(const char* flag, OidcClient& client) {
  if (client.secret_file.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> text = ReadFile(client.secret_file);
  if (!text.ok())
    return Wrong(flag, client.secret_file, "a file that can be read: " + MessageOf(text.status()));
  std::string secret = *text;
  while (secret.ends_with('\n') || secret.ends_with('\r')) secret.pop_back();
  const bool printable =
      std::all_of(secret.begin(), secret.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (secret.empty() || secret.size() > kLongestSecret || !printable)
    return Wrong(flag, client.secret_file, "a file that contains the client's secret and nothing else");
  client.secret = std::move(secret);
  return absl::OkStatus();
}

bool IsRole(const std::string& role) {
  static constexpr std::array<std::string_view, 3> kRoles = {"viewer", "submitter", "admin"};
  return std::find(kRoles.begin(), kRoles.end(), role) != kRoles.end();
}

absl::Status CheckPairs(const char* flag, const std::vector<std::string>& texts, const char* expected) {
  for (const std::string& text : texts) {
    const OidcPair pair = SplitOidcPair(text);
    if (pair.first.empty() || pair.second.empty()) return Wrong(flag, text, expected);
  }
  return absl::OkStatus();
}

bool HasWord(const std::string& text, const std::string& word) {
  return (" " + text + " ").find(" " + word + " ") != std::string::npos;
}

}  // namespace

OidcPair SplitOidcPair(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return {text, ""};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

absl::Status CheckOidcUrl(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed(curl_url(), &curl_url_cleanup);
  const auto wrong = [&url] {
    return absl::InvalidArgumentError(fmt::format(
        "\"{}\" is not a URL to which secrets may be sent; expected https://HOST, or http:// and this "
        "machine's loopback",
        url));
  };
  if (parsed == nullptr || curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK)
    return wrong();
  const auto part = [&parsed](CURLUPart which) {
    char* text = nullptr;
    if (curl_url_get(parsed.get(), which, &text, 0) != CURLUE_OK) return std::string();
    std::string copy(text);
    curl_free(text);
    return copy;
  };
  if (!part(CURLUPART_USER).empty() || !part(CURLUPART_FRAGMENT).empty()) return wrong();
  const std::string scheme = part(CURLUPART_SCHEME);
  if (scheme == "https") return absl::OkStatus();
  const auto address = ParseAddress(part(CURLUPART_HOST) + ":1");
  if (scheme == "http" && address.ok() && address->kind == Address::Kind::kLoopback) return absl::OkStatus();
  return wrong();
}

absl::Status ReadOidcSettings(OidcSettings& settings) {
  if (!settings.used()) {
    return settings.client.id.empty()
               ? absl::OkStatus()
               : absl::InvalidArgumentError("--oidc-client-id: it needs a provider: --oidc-issuer URL");
  }
  if (absl::Status url = CheckOidcUrl(settings.issuer); !url.ok())
    return absl::InvalidArgumentError("--oidc-issuer: " + MessageOf(url));
  if (settings.issuer.find('?') != std::string::npos)
    return Wrong("--oidc-issuer", settings.issuer, "a URL without a query");
  if (settings.client.id.empty()) {
    return absl::InvalidArgumentError(
        "--oidc-client-id is missing: the name under which this server is registered at the provider");
  }
  absl::Status status = ReadSecret("--oidc-client-secret-file", settings.client);
  if (status.ok()) status = ReadSecret("--oidc-device-client-secret-file", settings.device);
  if (!status.ok()) return status;
  if (!settings.tls_ca.empty() && !std::ifstream(settings.tls_ca).is_open())
    return Wrong("--oidc-tls-ca", settings.tls_ca, "a file that can be read");
  if (!HasWord(settings.scopes, "openid"))
    return Wrong("--oidc-scopes", settings.scopes, "words with blanks between them, one of which is openid");
  if (settings.name_claim.empty()) return Wrong("--oidc-name-claim", "", "the name of a claim");
  status = CheckPairs("--oidc-role", settings.roles, "ROLE=GROUP, such as admin=winnow-admins");
  if (status.ok()) status = CheckPairs("--oidc-project", settings.projects, "PROJECT=GROUP");
  if (status.ok())
    status = CheckPairs("--oidc-person", settings.persons, "NAME=SUBJECT, such as ana=248289761001");
  if (!status.ok()) return status;
  for (const std::string& text : settings.roles) {
    if (!IsRole(SplitOidcPair(text).first))
      return Wrong("--oidc-role", text, "viewer, submitter or admin before the '='");
  }
  for (const std::string& domain : settings.domains) {
    if (domain.empty() || domain.find_first_of("@ ") != std::string::npos)
      return Wrong("--oidc-domain", domain, "a domain, such as lab.example");
  }
  if (!settings.default_role.empty() && !IsRole(settings.default_role))
    return Wrong("--oidc-default-role", settings.default_role, "viewer, submitter or admin");
  if (settings.default_role.empty() && settings.roles.empty()) {
    return absl::InvalidArgumentError(
        "--oidc-issuer: nobody could sign in, because nobody would have a role; expected --oidc-default-role "
        "or "
        "--oidc-role ROLE=GROUP");
  }
  return absl::OkStatus();
}

}  // namespace winnow
