#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>

namespace winnow {

// Returns a port of this host without a listener, below the system's ephemeral range, so that no socket of
// the ranks that will meet there can get it in the meantime.
inline int FreePort() {
  std::random_device random;
  while (true) {
    const int port = std::uniform_int_distribution<int>(15000, 31999)(random);
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    const bool is_free = bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(probe);
    if (is_free) return port;
  }
}

}  // namespace winnow
