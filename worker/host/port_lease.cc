#include "worker/host/port_lease.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "fmt/format.h"

namespace winnow {
namespace {

// The system may choose a leased port at which its trainer does not listen yet.
constexpr int kMostAttempts = 100;

// -1: another process has the lease.
int LeaseName(int port) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = fmt::format("winnow-port-{}", port);
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // the leading 0 makes it abstract
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0) return fd;
  close(fd);
  return -1;
}

// Returns a port without a listener: `port`, or one that the system chooses if `port` is 0. Absent: none.
std::optional<int> FindFree(int port) {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return std::nullopt;
  const int yes = 1;  // as a listener would: ignore lingering closed connections
  setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<uint16_t>(port));
  socklen_t length = sizeof address;
  const bool is_free = bind(probe, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                       getsockname(probe, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  close(probe);
  if (!is_free) return std::nullopt;
  return ntohs(address.sin_port);
}

}  // namespace

std::optional<PortLease> PortLease::Take(int first, int count) {
  for (int port = first; port < first + count && port <= 65535; ++port) {
    const int fd = LeaseName(port);
    if (fd < 0) continue;
    if (FindFree(port)) return PortLease(port, fd);
    close(fd);
  }
  return std::nullopt;
}

std::optional<PortLease> PortLease::TakeAny() {
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    const std::optional<int> port = FindFree(0);
    if (!port) return std::nullopt;
    if (const int fd = LeaseName(*port); fd >= 0) return PortLease(*port, fd);
  }
  return std::nullopt;
}

PortLease::PortLease(PortLease&& other) noexcept : port_(other.port_), fd_(std::exchange(other.fd_, -1)) {}

PortLease& PortLease::operator=(PortLease&& other) noexcept {
  std::swap(port_, other.port_);
  std::swap(fd_, other.fd_);
  return *this;
}

PortLease::~PortLease() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace winnow
