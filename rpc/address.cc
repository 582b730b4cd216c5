#include "rpc/address.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>

#include <charconv>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"

namespace winnow {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr char kNameCharacters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
constexpr int kMaxPort = 65535;

bool IsHost(const std::string& host, bool bracketed) {
  in6_addr v6 = {};
  if (bracketed) return inet_pton(AF_INET6, host.c_str(), &v6) == 1;
  return host.find_first_not_of(kNameCharacters) == std::string::npos;
}

absl::StatusOr<Address> ParseSocket(const std::string& text) {
  Address address;
  address.kind = Address::Kind::kUnix;
  address.path = text.substr(kUnix.size());
  if (address.path.empty() || address.path.front() != '/') {
    return absl::InvalidArgumentError(
        fmt::format("\"{}\" is not a server's address: a socket's path must begin with /, as in "
                    "unix:/var/lib/winnow/server.sock",
                    std::string(absl::Utf8SafeCHexEscape(text))));
  }
  if (address.path.size() > kLongestSocketPath) {
    return absl::InvalidArgumentError(
        fmt::format("\"{}\" is not a server's address: the path has {} bytes, and a socket's has at most {}",
                    std::string(absl::Utf8SafeCHexEscape(text)), address.path.size(), kLongestSocketPath));
  }
  return address;
}

}  // namespace

bool IsLoopbackHost(const std::string& host) {
  in_addr v4 = {};
  in6_addr v6 = {};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return host == "localhost";
}

absl::StatusOr<Address> ParseAddress(const std::string& text, int least_port) {
  if (text.starts_with(kUnix)) return ParseSocket(text);
  const auto wrong = [&](std::string_view why) {
    return absl::InvalidArgumentError(
        fmt::format("\"{}\" is not a server's address: {}; expected HOST:PORT, for example 127.0.0.1:7070",
                    std::string(absl::Utf8SafeCHexEscape(text)), why));
  };
  if (text.find("://") != std::string::npos) return wrong("it begins with a scheme");
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return wrong("the port is missing");
  Address address;
  address.host = text.substr(0, colon);
  const bool bracketed = address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']';
  if (bracketed) {
    address.host = address.host.substr(1, address.host.size() - 2);
  } else if (address.host.find(':') != std::string::npos) {
    return wrong("an IPv6 address needs brackets, as in [::1]:7070");
  }
  if (address.host.empty()) return wrong("the host is missing");
  if (!IsHost(address.host, bracketed)) return wrong("the host is neither a name nor an address");
  const std::string port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || address.port < least_port ||
      address.port > kMaxPort) {
    return wrong(fmt::format("the port \"{}\" is not a number from {} to {}",
                             std::string(absl::Utf8SafeCHexEscape(port)), least_port, kMaxPort));
  }
  address.kind = IsLoopbackHost(address.host) ? Address::Kind::kLoopback : Address::Kind::kRemote;
  return address;
}

absl::StatusOr<std::vector<Address>> ParseAddresses(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ',');
  std::vector<Address> addresses;
  for (const std::string& part : parts) {
    absl::StatusOr<Address> address = ParseAddress(part);
    if (!address.ok()) return address.status();
    if (parts.size() > 1 && address->kind == Address::Kind::kUnix) {
      return absl::InvalidArgumentError(
          fmt::format("\"{}\" is a socket of this host, which cannot be one of several addresses; expected "
                      "HOST:PORT,HOST:PORT",
                      std::string(absl::Utf8SafeCHexEscape(part))));
    }
    addresses.push_back(*std::move(address));
  }
  return addresses;
}

}  // namespace winnow
