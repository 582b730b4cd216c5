#include "rpc/channel.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_interceptor.h>
#include <netdb.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/read_file.h"
#include "base/status_text.h"
#include "rpc/address.h"
#include "rpc/tls_files.h"

namespace winnow {
namespace {

constexpr int kMaxMessageBytes = 64 << 20;
constexpr int kFirstPauseMs = 50;
// How soon a peer that does not answer is noticed.
struct Patience {
  int connect_ms;
  // A vanished peer is detected after the sum of these; the server allows a ping every second.
  int ping_every_ms;
  int ping_ms;
  int longest_pause_ms;  // between two attempts to connect
};
constexpr Patience kOfOneServer = {3'000, 10'000, 5'000, 2'000};
constexpr Patience kOfSeveralServers = {1'000, 1'500, 1'500, 500};

// Adds the token on connections that never leave this host: gRPC's own credentials refuse plain text.
class TokenInterceptor final : public grpc::experimental::Interceptor {
 public:
  explicit TokenInterceptor(const std::string& header) : header_(header) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            grpc::experimental::InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->emplace("authorization", header_);
    }
    methods->Proceed();
  }

 private:
  const std::string header_;
};

class TokenInterceptorFactory final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit TokenInterceptorFactory(const std::string& token) : header_("Bearer " + token) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(grpc::experimental::ClientRpcInfo*) override {
    return new TokenInterceptor(header_);
  }

 private:
  const std::string header_;
};

// Returns the text of a PEM file with a `kind`; "" for no file.
absl::StatusOr<std::string> ReadPem(const char* flag, const std::string& file, const char* kind) {
  if (file.empty()) return std::string();
  absl::StatusOr<std::string> text = ReadFile(file);
  if (!text.ok())
    return absl::InvalidArgumentError(fmt::format("{}: {}: {}", flag, file, MessageOf(text.status())));
  const size_t begin = text->find("-----BEGIN ");
  if (begin != std::string::npos && text->find(kind, begin) != std::string::npos) return text;
  return absl::InvalidArgumentError(fmt::format("{}: {} contains no {} in PEM", flag, file, kind));
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> TlsCredentials(const Endpoint& endpoint) {
  absl::StatusOr<std::string> ca = ReadPem("--tls-ca", endpoint.ca_file, "CERTIFICATE");
  if (!ca.ok()) return ca.status();
  absl::StatusOr<std::string> cert = ReadPem("--tls-cert", endpoint.cert_file, "CERTIFICATE");
  if (!cert.ok()) return cert.status();
  absl::StatusOr<std::string> key = ReadPem("--tls-key", endpoint.key_file, "PRIVATE KEY");
  if (!key.ok()) return key.status();
  if (!endpoint.cert_file.empty()) {
    if (absl::Status status = CheckKeyPair(endpoint.cert_file, endpoint.key_file); !status.ok())
      return status;
  }
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = *std::move(ca);
  options.pem_cert_chain = *std::move(cert);
  options.pem_private_key = *std::move(key);
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::SslCredentials(options);
  if (credentials == nullptr) return absl::InvalidArgumentError("the TLS files cannot be used together");
  if (endpoint.token.empty()) return credentials;
  return grpc::CompositeChannelCredentials(credentials, grpc::AccessTokenCredentials(endpoint.token));
}

grpc::ChannelArguments Arguments(const Patience& patience) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstPauseMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, patience.longest_pause_ms);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   patience.connect_ms);  // despite its name, the limit of one attempt to connect
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, patience.ping_every_ms);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, patience.ping_ms);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // unlimited pings while a call waits
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  return arguments;
}

// gRPC's target for several servers, whose names it would not resolve itself: "ipv4:ADDRESS:PORT,…", or
// "ipv6:" with IPv4's addresses in IPv6's form if there are addresses of both.
absl::StatusOr<std::string> TargetOf(const std::vector<Address>& servers) {
  std::vector<std::pair<std::string, int>> found;
  bool has_ipv6 = false;
  for (const Address& server : servers) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (getaddrinfo(server.host.c_str(), nullptr, &hints, &list) != 0) continue;
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
    for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
      std::array<char, NI_MAXHOST> text{};
      if (getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) !=
          0)
        continue;
      has_ipv6 = has_ipv6 || one->ai_family == AF_INET6;
      found.emplace_back(text.data(), server.port);
    }
  }
  std::vector<std::string> all;
  for (const auto& [ip, port] : found) {
    const bool mapped = has_ipv6 && ip.find(':') == std::string::npos;
    all.push_back(has_ipv6 ? fmt::format("[{}{}]:{}", mapped ? "::ffff:" : "", ip, port)
                           : fmt::format("{}:{}", ip, port));
  }
  if (all.empty()) return absl::UnavailableError("none of the names of the servers can be resolved");
  return fmt::format("{}:{}", has_ipv6 ? "ipv6" : "ipv4", fmt::join(all, ","));
}

// gRPC's message on a failed connection ends with the reason; the rest names its attempts.
std::string LastPart(const std::string& text) {
  const size_t colon = text.rfind(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const Endpoint& endpoint) {
  const absl::StatusOr<std::vector<Address>> servers = ParseAddresses(endpoint.address);
  if (!servers.ok()) return servers.status();
  const Address& first = servers->front();
  // The explicit scheme prevents a host's name from being read as one.
  std::string target =
      first.kind == Address::Kind::kUnix ? "unix:" + first.path : "dns:///" + endpoint.address;
  grpc::ChannelArguments arguments = Arguments(servers->size() > 1 ? kOfSeveralServers : kOfOneServer);
  if (servers->size() > 1) {
    absl::StatusOr<std::string> several = TargetOf(*servers);
    if (!several.ok()) return several.status();
    target = *std::move(several);
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, endpoint.address.substr(0, endpoint.address.find(',')));
    if (endpoint.UsesTls()) arguments.SetSslTargetNameOverride(first.host);
  }
  if (endpoint.UsesTls()) {
    absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> credentials = TlsCredentials(endpoint);
    if (!credentials.ok()) return credentials.status();
    return grpc::CreateCustomChannel(target, *credentials, arguments);
  }
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> interceptors;
  if (!endpoint.token.empty()) {
    interceptors.push_back(std::make_unique<TokenInterceptorFactory>(endpoint.token));
  }
  return grpc::experimental::CreateCustomChannelWithInterceptors(target, grpc::InsecureChannelCredentials(),
                                                                 arguments, std::move(interceptors));
}

std::string ExplainFailure(const Endpoint& endpoint, const grpc::Status& status) {
  const std::string said = status.error_message();
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE || endpoint.address.empty()) return said;
  // The words are OpenSSL's and gRPC's; unknown ones are passed on unchanged.
  const auto tells = [&said](const char* words) { return said.find(words) != std::string::npos; };
  if (tells("certificate verify failed")) {
    return fmt::format(
        "its certificate is not trusted: it was not signed by {}, or it has expired, or this machine's clock "
        "is wrong; pass the CA certificate that signed it with --tls-ca FILE",
        endpoint.ca_file.empty() ? "an authority of this system" : endpoint.ca_file);
  }
  if (tells("is not in peer certificate")) {
    return fmt::format(
        "its certificate is not for the name in {}: pass --server with a name that it has (subjectAltName)",
        endpoint.address);
  }
  if (tells("wrong version number")) {
    return "it does not use TLS there: leave out --tls-ca and WINNOW_TLS_CA, or start it with --tls-cert";
  }
  if (tells("Socket closed") && !endpoint.UsesTls()) {
    return "it closed the connection: if it uses TLS, pass the CA certificate that signed its own with "
           "--tls-ca FILE";
  }
  if (tells("Socket closed") && endpoint.cert_file.empty()) {
    return "it closed the connection: if it requires clients' certificates, pass one with --tls-cert FILE "
           "and "
           "--tls-key "
           "FILE";
  }
  if (tells("Socket closed")) {
    return fmt::format("it closed the connection: it may not trust the certificate {}", endpoint.cert_file);
  }
  return LastPart(said);
}

}  // namespace winnow
