#include "worker/server_address.h"

#include <arpa/inet.h>

#include "absl/strings/numbers.h"
#include "fmt/format.h"

namespace winnow {
namespace {

bool IsLoopback(const std::string& host) {
  in_addr address;
  if (inet_pton(AF_INET, host.c_str(), &address) == 1) return (ntohl(address.s_addr) >> 24) == 127;
  return host == "localhost" || host == "[::1]";
}

}  // namespace

std::string CheckLoopback(const std::string& server) {
  const size_t colon = server.rfind(':');
  int port = 0;
  if (colon == std::string::npos || colon == 0 || !absl::SimpleAtoi(server.substr(colon + 1), &port) ||
      port < 1 || port > 65535) {
    return fmt::format("\"{}\": expected HOST:PORT with a port from 1 to 65535, as in 127.0.0.1:7070",
                       server);
  }
  if (!IsLoopback(server.substr(0, colon))) {
    return fmt::format(
        "\"{}\" is not on this machine; that needs TLS, which winnow-worker does not offer yet: expected "
        "127.0.0.1:PORT, "
        "for example the end of a tunnel",
        server);
  }
  return "";
}

}  // namespace winnow
