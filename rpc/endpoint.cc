#include "rpc/endpoint.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/environment.h"
#include "base/status_text.h"
#include "rpc/address.h"

namespace winnow {
namespace {

constexpr char kTokenStart[] = "wnw_";
constexpr size_t kLongestToken = 256;

constexpr char kServer[] = "server";
constexpr char kTlsCa[] = "tls-ca";
constexpr char kTlsCert[] = "tls-cert";
constexpr char kTlsKey[] = "tls-key";
constexpr char kTokenFile[] = "token-file";
constexpr char kToken[] = "token";

absl::Status Wrong(const std::string& where, std::string_view what) {
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

absl::StatusOr<std::string> ReadToken(const EndpointSetting& file, const EndpointSetting& direct) {
  constexpr char kExpected[] = "expected what `winnow token create` printed: \"wnw_…\"";
  if (!direct.value.empty()) {
    if (LooksLikeToken(direct.value)) return direct.value;
    return Wrong(direct.from, fmt::format("not a token; {}", kExpected));
  }
  if (file.value.empty()) return std::string();
  std::ifstream in(file.value);
  std::string token;
  in >> token;
  if (!in.is_open()) return Wrong(file.from, fmt::format("{}: {}", file.value, std::strerror(errno)));
  if (LooksLikeToken(token)) return token;
  return Wrong(file.from, fmt::format("{} contains no token; {}", file.value, kExpected));
}

}  // namespace

bool Endpoint::UsesTls() const {
  const absl::StatusOr<std::vector<Address>> parsed = ParseAddresses(address);
  if (!parsed.ok() || parsed->front().kind == Address::Kind::kUnix) return false;
  const auto remote = [](const Address& one) { return one.kind == Address::Kind::kRemote; };
  return std::any_of(parsed->begin(), parsed->end(), remote) || !ca_file.empty() || !cert_file.empty();
}

std::vector<EndpointSetting> EndpointSettings(const EndpointFlags& flags, const EndpointContext& context) {
  const bool environment = !context.chosen;
  const bool other_server =
      !flags.server.empty() || (environment && !EnvironmentVariable("WINNOW_SERVER").empty());
  const EndpointFlags none;
  const bool counts = !context.name.empty() && !other_server;
  const EndpointFlags& kept = counts ? context.values : none;
  std::vector<EndpointSetting> settings;
  const auto add = [&](const char* name, const std::string& flag, const char* variable,
                       const std::string& own) {
    EndpointSetting& setting = settings.emplace_back(EndpointSetting{name, flag, fmt::format("--{}", name)});
    if (setting.value.empty() && environment) setting = {name, EnvironmentVariable(variable), variable};
    if (setting.value.empty()) setting = {name, own, "context " + context.name};
    if (setting.value.empty()) setting = {name, "", "default"};
  };
  add(kServer, flags.server, "WINNOW_SERVER", kept.server);
  if (settings.back().value.empty()) settings.back().value = kDefaultServer;
  add(kTlsCa, flags.tls_ca, "WINNOW_TLS_CA", kept.tls_ca);
  add(kTlsCert, flags.tls_cert, "WINNOW_TLS_CERT", kept.tls_cert);
  add(kTlsKey, flags.tls_key, "WINNOW_TLS_KEY", kept.tls_key);
  const bool direct = flags.token_file.empty() && environment && !EnvironmentVariable("WINNOW_TOKEN").empty();
  if (direct) {
    settings.push_back({kTokenFile, "", "default"});
    settings.push_back({kToken, EnvironmentVariable("WINNOW_TOKEN"), "WINNOW_TOKEN"});
    return settings;
  }
  add(kTokenFile, flags.token_file, "WINNOW_TOKEN_FILE", kept.token_file);
  const bool own_token = settings.back().value.empty() && counts && !context.token.empty();
  settings.push_back(
      {kToken, own_token ? context.token : "", own_token ? "context " + context.name : "default"});
  return settings;
}

absl::StatusOr<Endpoint> MakeEndpoint(const EndpointFlags& flags, const EndpointContext& context) {
  const std::vector<EndpointSetting> settings = EndpointSettings(flags, context);
  const EndpointSetting& server = settings[0];
  const EndpointSetting& cert = settings[2];
  const EndpointSetting& key = settings[3];
  const absl::StatusOr<std::vector<Address>> addresses = ParseAddresses(server.value);
  if (!addresses.ok()) return Wrong(server.from, MessageOf(addresses.status()));
  if (cert.value.empty() != key.value.empty()) {
    return cert.value.empty() ? Wrong(key.from, "a key needs its certificate: --tls-cert FILE")
                              : Wrong(cert.from, "a certificate needs its key: --tls-key FILE");
  }
  absl::StatusOr<std::string> token = ReadToken(settings[4], settings[5]);
  if (!token.ok()) return token.status();
  return Endpoint{server.value, settings[1].value, cert.value, key.value, *std::move(token)};
}

}  // namespace winnow
