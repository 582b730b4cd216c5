#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace winnow {

// Where a server is: HOST:PORT, or unix:/PATH for a socket of this host.
struct Address {
  enum class Kind {
    kUnix,
    kLoopback,  // 127.0.0.0/8, [::1] or localhost
    kRemote,    // anything else: only with TLS
  };
  Kind kind = Kind::kLoopback;
  std::string host;  // without brackets; "" of a socket
  int port = 0;      // 0 of a socket
  std::string path;  // of a socket
};

// The longest path that a socket can have.
inline constexpr size_t kLongestSocketPath = 107;

// INVALID_ARGUMENT names the text, what is wrong with it and what was expected. `least_port` is 0 where the
// system may choose one.
absl::StatusOr<Address> ParseAddress(const std::string& text, int least_port = 1);

}  // namespace winnow
