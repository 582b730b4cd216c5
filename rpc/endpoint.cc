#include "rpc/endpoint.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/status_text.h"
#include "rpc/address.h"

namespace winnow {
namespace {

constexpr char kTokenStart[] = "wnw_";
constexpr size_t kLongestToken = 256;

// The value of a flag or variable, and which of them it came from.
struct Setting {
  std::string value;
  const char* where;
};

Setting Find(const std::string& flag, const char* flag_name, const char* variable) {
  if (!flag.empty()) return {flag, flag_name};
  const char* value = std::getenv(variable);
  return {value == nullptr ? "" : value, variable};
}

absl::Status Wrong(const char* where, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", where, what));
}

// Refuses text that cannot be a header's value, and files that contain no token.
bool LooksLikeToken(const std::string& token) {
  return token.starts_with(kTokenStart) && token.size() <= kLongestToken &&
         std::all_of(token.begin(), token.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                  c == '-';
         });
}

absl::StatusOr<std::string> ReadToken(const EndpointFlags& flags) {
  Setting direct = Find("", "", "WINNOW_TOKEN");
  if (flags.token_file.empty() && !direct.value.empty()) {
    if (LooksLikeToken(direct.value)) return direct.value;
    return Wrong(direct.where, "not a token; expected what `winnow token create` printed: \"wnw_…\"");
  }
  const Setting file = Find(flags.token_file, "--token-file", "WINNOW_TOKEN_FILE");
  if (file.value.empty()) return std::string();
  std::ifstream in(file.value);
  std::string token;
  in >> token;
  if (!in.is_open()) return Wrong(file.where, fmt::format("{}: {}", file.value, std::strerror(errno)));
  if (LooksLikeToken(token)) return token;
  return Wrong(file.where,
               fmt::format("{} contains no token; expected what `winnow token create` printed: \"wnw_…\"",
                           file.value));
}

}  // namespace

bool Endpoint::UsesTls() const {
  const absl::StatusOr<Address> parsed = ParseAddress(address);
  if (!parsed.ok() || parsed->kind == Address::Kind::kUnix) return false;
  return parsed->kind == Address::Kind::kRemote || !ca_file.empty() || !cert_file.empty();
}

absl::StatusOr<Endpoint> MakeEndpoint(const EndpointFlags& flags) {
  Setting server = Find(flags.server, "--server", "WINNOW_SERVER");
  if (server.value.empty()) server.value = kDefaultServer;
  const absl::StatusOr<Address> address = ParseAddress(server.value);
  if (!address.ok()) return Wrong(server.where, MessageOf(address.status()));
  const Setting cert = Find(flags.tls_cert, "--tls-cert", "WINNOW_TLS_CERT");
  const Setting key = Find(flags.tls_key, "--tls-key", "WINNOW_TLS_KEY");
  if (cert.value.empty() != key.value.empty()) {
    return cert.value.empty() ? Wrong(key.where, "a key needs its certificate: --tls-cert FILE")
                              : Wrong(cert.where, "a certificate needs its key: --tls-key FILE");
  }
  absl::StatusOr<std::string> token = ReadToken(flags);
  if (!token.ok()) return token.status();
  return Endpoint{server.value, Find(flags.tls_ca, "--tls-ca", "WINNOW_TLS_CA").value, cert.value, key.value,
                  *std::move(token)};
}

}  // namespace winnow
