#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace winnow {

using Deadline = std::chrono::steady_clock::time_point;

// A non-blocking TCP socket that sends small pieces without delay; closed by its destructor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() { Close(); }
  Socket(Socket&& other) noexcept : fd_(other.Release()) {}
  Socket& operator=(Socket&& other) noexcept;

  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void Close();

  // Bytes transferred, at least 1; or one of the two below.
  static constexpr std::ptrdiff_t kWouldBlock = 0, kEnded = -1;
  std::ptrdiff_t Send(std::span<iovec> pieces) const;
  std::ptrdiff_t Receive(std::span<iovec> pieces) const;

  // The peer reads an end of file after what was sent before.
  void EndSending() const;
  // Bytes in this machine's send buffer; 0 for a broken connection.
  int Unsent() const;

 private:
  int Release();
  int fd_ = -1;
};

// An IPv4 address in network byte order.
struct Endpoint {
  uint32_t address = 0;
  int port = 0;
};

// The address of `host` (a name or an address). Unavailable if the name cannot be resolved now.
absl::StatusOr<uint32_t> ResolveHost(const std::string& host);
std::string ToText(const Endpoint& endpoint);
bool IsLoopback(uint32_t address);
uint32_t LoopbackAddress();

// Listens for connections; port 0 is any free one. Unavailable if the port is in use.
absl::StatusOr<Socket> ListenAt(const Endpoint& own);
Endpoint OwnEndpoint(const Socket& socket);
Endpoint PeerEndpoint(const Socket& socket);
// Returns a connection that waits at the listener, or none.
Socket AcceptFrom(const Socket& listener);

// Unavailable without a listener, DeadlineExceeded without an answer.
absl::StatusOr<Socket> ConnectTo(const Endpoint& peer, Deadline deadline);

// Transfers all bytes. Unavailable: the connection ended; or DeadlineExceeded.
absl::Status SendAll(const Socket& socket, const void* data, std::size_t size, Deadline deadline);
absl::Status ReceiveAll(const Socket& socket, void* data, std::size_t size, Deadline deadline);

// Milliseconds from now, rounded up, 0 if it has passed, for poll().
int MillisecondsTo(Deadline deadline);

}  // namespace winnow
