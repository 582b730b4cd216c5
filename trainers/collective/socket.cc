#include "trainers/collective/socket.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "fmt/format.h"

namespace winnow {
namespace {

sockaddr_in ToSystem(const Endpoint& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = endpoint.address;
  address.sin_port = htons(static_cast<uint16_t>(endpoint.port));
  return address;
}

template <typename Call>
Endpoint FromSystem(const Socket& socket, Call call) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (call(socket.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  return {address.sin_addr.s_addr, ntohs(address.sin_port)};
}

void SetOption(const Socket& socket, int level, int name, int value) {
  setsockopt(socket.fd(), level, name, &value, sizeof value);
}

// Sends without delay, and detects a vanished peer after half a minute.
void SetOptions(const Socket& socket) {
  SetOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPIDLE, 15);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

std::ptrdiff_t Moved(ssize_t result) {
  if (result > 0) return result;
  return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? Socket::kWouldBlock
                                                                                   : Socket::kEnded;
}

absl::Status Await(const Socket& socket, int16_t events, Deadline deadline) {
  pollfd waiting{socket.fd(), events, 0};
  int ready = 0;
  do ready = poll(&waiting, 1, MillisecondsTo(deadline));
  while (ready < 0 && errno == EINTR);
  return ready > 0 ? absl::OkStatus() : absl::DeadlineExceededError("no answer");
}

absl::Status WhyEnded(const Socket& socket) {
  if (socket.tls() == nullptr) return absl::UnavailableError("connection closed");
  // The other end may have said why before.
  std::array<char, 256> rest;
  iovec piece{rest.data(), rest.size()};
  while (socket.Receive({&piece, 1}) > 0) continue;
  return socket.tls()->is_refused() ? absl::PermissionDeniedError(socket.why())
                                    : absl::UnavailableError(socket.why());
}

template <typename Move>
absl::Status MoveAll(const Socket& socket, int16_t events, char* data, std::size_t size, Deadline deadline,
                     Move move) {
  while (size > 0) {
    iovec piece{data, size};
    const std::ptrdiff_t moved = move(std::span<iovec>(&piece, 1));
    if (moved == Socket::kEnded) return WhyEnded(socket);
    if (moved == Socket::kWouldBlock) {
      if (absl::Status status = Await(socket, events, deadline); !status.ok()) return status;
    }
    data += moved;
    size -= static_cast<std::size_t>(moved);
  }
  return absl::OkStatus();
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = other.Release();
    tls_ = std::move(other.tls_);
  }
  return *this;
}

void Socket::Close() {
  tls_ = nullptr;
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

int Socket::Release() { return std::exchange(fd_, -1); }

void Socket::StartTls(std::shared_ptr<const RankIdentity> identity, TlsStream::Side side) {
  if (identity != nullptr) tls_ = std::make_unique<TlsStream>(std::move(identity), fd_, side);
}

std::ptrdiff_t Socket::Send(std::span<iovec> pieces) const {
  if (tls_ != nullptr) return tls_->Send(pieces);
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  return Moved(sendmsg(fd_, &message, MSG_NOSIGNAL));
}

std::ptrdiff_t Socket::Receive(std::span<iovec> pieces) const {
  if (tls_ != nullptr) return tls_->Receive(pieces);
  return Moved(readv(fd_, pieces.data(), static_cast<int>(pieces.size())));
}

void Socket::EndSending() const { shutdown(fd_, SHUT_WR); }

int Socket::Unsent() const {
  int unsent = 0;
  return ioctl(fd_, SIOCOUTQNSD, &unsent) == 0 ? unsent : 0;
}

absl::StatusOr<uint32_t> ResolveHost(const std::string& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) return absl::UnavailableError(fmt::format("host {}: {}", host, gai_strerror(error)));
  sockaddr_in address{};
  memcpy(&address, found->ai_addr, sizeof address);
  freeaddrinfo(found);
  return address.sin_addr.s_addr;
}

std::string ToText(const Endpoint& endpoint) {
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &endpoint.address, text.data(), text.size());
  return fmt::format("{}:{}", text.data(), endpoint.port);
}

bool IsLoopback(uint32_t address) { return ntohl(address) >> 24 == 127; }

uint32_t LoopbackAddress() { return htonl(INADDR_LOOPBACK); }

absl::StatusOr<Socket> ListenAt(const Endpoint& own) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  SetOption(socket, SOL_SOCKET, SO_REUSEADDR, 1);  // the port of an attempt that has just ended
  const sockaddr_in address = ToSystem(own);
  if (bind(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket.fd(), SOMAXCONN) != 0) {
    const std::string why = fmt::format("cannot listen at {}: {}", ToText(own), strerror(errno));
    return errno == EADDRINUSE ? absl::UnavailableError(why) : absl::FailedPreconditionError(why);
  }
  return socket;
}

Endpoint OwnEndpoint(const Socket& socket) { return FromSystem(socket, getsockname); }
Endpoint PeerEndpoint(const Socket& socket) { return FromSystem(socket, getpeername); }

Socket AcceptFrom(const Socket& listener) {
  Socket socket(accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.is_open()) SetOptions(socket);
  return socket;
}

absl::StatusOr<Socket> ConnectTo(const Endpoint& peer, Deadline deadline) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  SetOptions(socket);
  const sockaddr_in address = ToSystem(peer);
  int error = 0;
  if (connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) error = errno;
  if (error == EINPROGRESS) {
    if (absl::Status status = Await(socket, POLLOUT, deadline); !status.ok()) return status;
    socklen_t size = sizeof error;
    getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) return absl::UnavailableError(strerror(error));
  // Without a listener, the system may choose the wanted port for this end and connect it with itself.
  const Endpoint own = OwnEndpoint(socket);
  if (own.port == peer.port && own.address == peer.address)
    return absl::UnavailableError("Connection refused");
  return socket;
}

absl::Status Secure(std::shared_ptr<const RankIdentity> identity, int rank, Socket* socket,
                    Deadline deadline) {
  if (identity == nullptr) return absl::OkStatus();
  socket->StartTls(std::move(identity), TlsStream::Side::kConnects);
  while (true) {
    const TlsStream::Handshake step = socket->tls()->ShakeHands();
    if (step == TlsStream::Handshake::kFailed) return WhyEnded(*socket);
    if (step == TlsStream::Handshake::kDone) break;
    const int16_t events = step == TlsStream::Handshake::kReads ? POLLIN : POLLOUT;
    if (absl::Status status = Await(*socket, events, deadline); !status.ok()) return status;
  }
  const absl::Status named = socket->tls()->CheckPeer(rank);
  return named.ok() ? named : absl::UnavailableError(named.message());
}

absl::Status SendAll(const Socket& socket, const void* data, std::size_t size, Deadline deadline) {
  absl::Status sent = MoveAll(socket, POLLOUT, static_cast<char*>(const_cast<void*>(data)), size, deadline,
                              [&](std::span<iovec> pieces) { return socket.Send(pieces); });
  while (sent.ok() && socket.holds()) {
    if (sent = Await(socket, POLLOUT, deadline); sent.ok() && socket.Flush() < 0) sent = WhyEnded(socket);
  }
  return sent;
}

absl::Status ReceiveAll(const Socket& socket, void* data, std::size_t size, Deadline deadline) {
  return MoveAll(socket, POLLIN, static_cast<char*>(data), size, deadline,
                 [&](std::span<iovec> pieces) { return socket.Receive(pieces); });
}

int MillisecondsTo(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1'000'000'000));
}

}  // namespace winnow
