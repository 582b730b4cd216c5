#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

// The address of a server: HOST:PORT, or unix:/PATH for a socket of this host.
struct Address {
  enum class Kind {
    kUnix,
    kLoopback,  // 127.0.0.0/8, [::1] or localhost
    kRemote,    // anything else: requires TLS
  };
  Kind kind = Kind::kLoopback;
  std::string host;  // without brackets; "" for a socket
  int port = 0;      // 0 for a socket
  std::string path;  // for a socket
};

// The length limit of a socket's path.
inline constexpr size_t kLongestSocketPath = 107;

// Whether a host, without brackets, is this machine's loopback: 127.0.0.0/8, ::1 or localhost.
bool IsLoopbackHost(const std::string& host);

// INVALID_ARGUMENT names the text, the error and what was expected. `least_port`: 0 if the system may choose.
absl::StatusOr<Address> ParseAddress(const std::string& text, int least_port = 1);

// Addresses of servers of one database, with commas between them. A socket
// cannot be one of several. INVALID_ARGUMENT as ParseAddress.
absl::StatusOr<std::vector<Address>> ParseAddresses(const std::string& text);

}  // namespace winnow
