#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "trainers/collective/tls/tls_stream.h"

namespace winnow {

using Deadline = std::chrono::steady_clock::time_point;

// A non-blocking TCP socket that sends small pieces without delay, in plain text or over TLS; closed by its
// destructor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() { Close(); }
  Socket(Socket&& other) noexcept : fd_(other.Release()), tls_(std::move(other.tls_)) {}
  Socket& operator=(Socket&& other) noexcept;

  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void Close();

  // Bytes transferred, at least 1; or one of the two below.
  static constexpr std::ptrdiff_t kWouldBlock = 0, kEnded = -1;
  std::ptrdiff_t Send(std::span<iovec> pieces) const;
  std::ptrdiff_t Receive(std::span<iovec> pieces) const;
  // Over TLS, what was sent may be held back until there is room for it. Flush: as Send.
  bool holds() const { return tls_ != nullptr && tls_->holds(); }
  std::ptrdiff_t Flush() const { return tls_ == nullptr ? kWouldBlock : tls_->Flush(); }
  // Something may have come that poll() does not tell.
  bool has_unread() const { return tls_ != nullptr && tls_->has_unread(); }
  // Why it ended.
  std::string why() const {
    const std::string told = tls_ == nullptr ? "" : tls_->why();
    return told.empty() ? "connection closed" : told;
  }

  // From now on the two ends talk TLS. null: plain text.
  void StartTls(std::shared_ptr<const RankIdentity> identity, TlsStream::Side side);
  TlsStream* tls() const { return tls_.get(); }

  // The peer reads an end of file after what was sent before.
  void EndSending() const;
  // Bytes in this machine's send buffer; 0 for a broken connection.
  int Unsent() const;

 private:
  int Release();
  int fd_ = -1;
  std::unique_ptr<TlsStream> tls_;  // null: plain text
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

// Starts TLS on a new connection to the rank, and shakes hands with it. Unavailable (it does not talk TLS,
// its certificate is another rank's or attempt's, or the connection ended), PermissionDenied (a certificate
// is refused, which trying again does not change), or DeadlineExceeded.
absl::Status Secure(std::shared_ptr<const RankIdentity> identity, int rank, Socket* socket,
                    Deadline deadline);

// Transfers all bytes. Unavailable: the connection ended; or DeadlineExceeded. PermissionDenied: the other
// end has refused this rank's certificate.
absl::Status SendAll(const Socket& socket, const void* data, std::size_t size, Deadline deadline);
absl::Status ReceiveAll(const Socket& socket, void* data, std::size_t size, Deadline deadline);

// Milliseconds from now, rounded up, 0 if it has passed, for poll().
int MillisecondsTo(Deadline deadline);

}  // namespace winnow
