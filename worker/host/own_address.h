#pragma once

#include <string>

namespace winnow {

// Returns the source address of packets from this host to `server` (as in ParseAddresses; of several, the
// first that is not on loopback), at which others that reach the server can reach this host. Sends nothing.
// For a server on loopback or a unix socket: 127.0.0.1; empty: the name is unknown or there is no route.
std::string OwnAddressTowards(const std::string& server);

// Returns what identifies this process's network namespace among those of all machines, if the host is a
// loopback address or localhost, from the kernel's boot id. Empty: the host is another one.
std::string LoopbackOf(const std::string& host);

}  // namespace winnow
