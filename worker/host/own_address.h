#pragma once

#include <string>

namespace winnow {

// The address of this host from which packets go to `server`, HOST:PORT as in ParseAddress: where others that
// reach that server can reach this host. Nothing is sent. Of a server on loopback or on a socket: 127.0.0.1;
// empty if its name is not known or there is no way to it.
std::string OwnAddressTowards(const std::string& server);

}  // namespace winnow
