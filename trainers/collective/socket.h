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

// A TCP socket that never blocks and sends small pieces at once; closed by its destructor.
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

  // Bytes moved, at least 1; or one of the two below.
  static constexpr std::ptrdiff_t kWouldBlock = 0, kEnded = -1;
  std::ptrdiff_t Send(std::span<iovec> pieces) const;
  std::ptrdiff_t Receive(std::span<iovec> pieces) const;

  // The peer reads an end after what was sent before.
  void EndSending() const;
  // Bytes that wait on this machine to be sent; none of a broken connection.
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

// The machine of `host` (a name or an address). Unavailable if the name is not known now.
absl::StatusOr<uint32_t> ResolveHost(const std::string& host);
std::string ToText(const Endpoint& endpoint);
bool IsLoopback(uint32_t address);
uint32_t LoopbackAddress();

// Listens for connections; port 0 is any free one. Unavailable if the port is in use.
absl::StatusOr<Socket> ListenAt(const Endpoint& own);
Endpoint OwnEndpoint(const Socket& socket);
Endpoint PeerEndpoint(const Socket& socket);
// A connection that waits at the listener, or none.
Socket AcceptFrom(const Socket& listener);

// Unavailable where nobody listens, DeadlineExceeded where nobody answers.
absl::StatusOr<Socket> ConnectTo(const Endpoint& peer, Deadline deadline);

// Moves all bytes, or says Unavailable (the connection ended) or DeadlineExceeded.
absl::Status SendAll(const Socket& socket, const void* data, std::size_t size, Deadline deadline);
absl::Status ReceiveAll(const Socket& socket, void* data, std::size_t size, Deadline deadline);

// Milliseconds from now, rounded up, 0 if it has passed: what poll() takes.
int MillisecondsTo(Deadline deadline);

}  // namespace winnow
