#pragma once

#include <string>

namespace winnow {

// Returns the source address of packets from this host to `server` (HOST:PORT as in ParseAddress), at which
// others that reach the server can reach this host. Sends nothing. For a server on loopback or a unix socket:
// 127.0.0.1; empty: the name is unknown or there is no route.
std::string OwnAddressTowards(const std::string& server);

}  // namespace winnow
