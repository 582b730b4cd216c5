#include "server/grpc/gate.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/tcp.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <spdlog/spdlog.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "rpc/address.h"
#include "server/grpc/open_files.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kBacklog = 1024;
// Time without acknowledgement after which a peer counts as vanished.
constexpr unsigned kVanishedMs = 10'000;
constexpr uint64_t kWakeNumber = 0;
// Lower numbers are the wake-up and the listeners.
constexpr uint64_t kFirstConnection = 64;
constexpr uint32_t kStrangersEvents = EPOLLIN | EPOLLRDHUP | EPOLLET;
constexpr uint32_t kFriendsEvents = EPOLLRDHUP | EPOLLET;
// The most that gRPC reads at once of an unadmitted connection.
constexpr int kStrangersBuffer = 64 << 10;
constexpr int kFriendsBuffer = 4 << 20;
// Received data is unpacked with a delay, so memory is checked even while nothing arrives.
constexpr milliseconds kLookEvery{5};
// Time for gRPC to release the memory of connections that were ended.
constexpr milliseconds kMemoryReturns{5'000};
// Longest pause before accept is tried again when no more files can be opened.
constexpr milliseconds kAcceptPause{50};

// Returns "ipv4:1.2.3.4:5" or "ipv6:[::1]:5"; "" for any other address. IPv4 over an IPv6 socket is IPv4.
std::string PeerOfSocket(int socket) {
  sockaddr_storage storage = {};
  socklen_t size = sizeof storage;
  std::array<char, INET6_ADDRSTRLEN> text = {};
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return "";
  if (storage.ss_family == AF_INET) {
    const auto* address = reinterpret_cast<const sockaddr_in*>(&storage);
    inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size());
    return fmt::format("ipv4:{}:{}", text.data(), ntohs(address->sin_port));
  }
  if (storage.ss_family != AF_INET6) return "";
  const auto* address = reinterpret_cast<const sockaddr_in6*>(&storage);
  if (IN6_IS_ADDR_V4MAPPED(&address->sin6_addr)) {
    inet_ntop(AF_INET, &address->sin6_addr.s6_addr[12], text.data(), text.size());
    return fmt::format("ipv4:{}:{}", text.data(), ntohs(address->sin6_port));
  }
  inet_ntop(AF_INET6, &address->sin6_addr, text.data(), text.size());
  return fmt::format("ipv6:[{}]:{}", text.data(), ntohs(address->sin6_port));
}

// Converts gRPC's "ipv6:%5Bfe80::1%25eth0%5D:5" to the form of PeerOfSocket.
std::string PeerAsOurs(std::string_view peer) {
  std::string text(peer);
  const size_t open = text.find("%5B"), close = text.find("%5D");
  if (open == std::string::npos || close == std::string::npos || close < open) return text;
  std::string host = text.substr(open + 3, close - open - 3);
  host = host.substr(0, host.find('%'));
  return text.substr(0, open) + "[" + host + "]" + text.substr(close + 3);
}

int64_t HeapInUse() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

std::optional<int64_t> BytesReceived(int socket) {
  tcp_info info = {};
  socklen_t size = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return static_cast<int64_t>(info.tcpi_bytes_received);
}

void SetOption(int socket, int level, int option, int value) {
  setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

Gate::Gate(const GateLimits& limits)
    : limits_(limits), epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  // Two descriptors per connection, and as many again for everything else.
  limits_.connections = std::min(limits_.connections, RaiseFileLimit() / 4);
  limits_.strangers = std::min(limits_.strangers, std::max<size_t>(1, limits_.connections / 2));
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = kWakeNumber;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
  next_ = kFirstConnection;
}

absl::StatusOr<std::unique_ptr<Gate>> Gate::Listen(const std::string& address, const GateLimits& limits) {
  const absl::StatusOr<Address> parsed = ParseAddress(address, 0);
  if (!parsed.ok()) return parsed.status();
  std::unique_ptr<Gate> gate(new Gate(limits));
  if (parsed->host == "0.0.0.0" || parsed->host == "::") {
    // Without IPv6 on the machine, listens on IPv4 alone.
    absl::Status status = gate->Bind("::", parsed->port, true);
    if (!status.ok()) status = gate->Bind("0.0.0.0", parsed->port, false);
    if (!status.ok()) return status;
    return gate;
  }
  if (absl::Status status = gate->Bind(parsed->host, parsed->port, false); !status.ok()) return status;
  return gate;
}

absl::Status Gate::Bind(const std::string& host, int port, bool both_families) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int code = getaddrinfo(host.c_str(), nullptr, &hints, &found); code != 0) {
    return absl::UnavailableError(gai_strerror(code));
  }
  absl::Status problem = absl::UnavailableError("the name cannot be resolved");
  port_ = port;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    const int socket = ::socket(entry->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) continue;
    SetOption(socket, SOL_SOCKET, SO_REUSEADDR, 1);
    sockaddr_storage bound = {};
    memcpy(&bound, entry->ai_addr, entry->ai_addrlen);
    // All listeners use the port of the first.
    if (entry->ai_family == AF_INET6) {
      SetOption(socket, IPPROTO_IPV6, IPV6_V6ONLY, both_families ? 0 : 1);
      reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port = htons(static_cast<uint16_t>(port_));
    } else {
      reinterpret_cast<sockaddr_in*>(&bound)->sin_port = htons(static_cast<uint16_t>(port_));
    }
    if (bind(socket, reinterpret_cast<sockaddr*>(&bound), entry->ai_addrlen) != 0 ||
        listen(socket, kBacklog) != 0) {
      const int error = errno;
      problem = absl::UnavailableError(strerror(error));
      close(socket);
      if (error != EADDRINUSE) continue;
      freeaddrinfo(found);
      return problem;  // a partial listener is an error
    }
    socklen_t size = sizeof bound;
    getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size);
    port_ = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                              : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
    listeners_.push_back(socket);
  }
  freeaddrinfo(found);
  return listeners_.empty() ? problem : absl::OkStatus();
}

Gate::~Gate() {
  Close();
  close(epoll_);
  close(wake_);
}

void Gate::Open(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor) {
  acceptor_ = std::move(acceptor);
  WatchListeners(true);
  thread_ = std::thread([this] { Run(); });
  hand_over_ = std::thread([this] { HandOver(); });
}

void Gate::Close() {
  {
    MutexLock lock(mutex_);
    closing_ = true;
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
  handed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
  {
    MutexLock lock(mutex_);
    const auto peer = peers_.find(handing_);
    if (peer != peers_.end()) End(connections_.at(peer->second));  // otherwise gRPC might read it for ever
    for (const auto& [number, socket] : accepted_) close(socket);
    accepted_.clear();
  }
  if (hand_over_.joinable()) hand_over_.join();
  for (const int listener : listeners_) close(listener);
  listeners_.clear();
  MutexLock lock(mutex_);
  while (!connections_.empty()) Forget(connections_.begin());
}

void Gate::Admit(std::string_view peer) {
  if (strangers_ == 0) return;
  MutexLock lock(mutex_);
  const auto found = connections_.find(PeerAsOurs(peer));
  if (found == connections_.end() || !found->second.stranger) return;
  Connection& connection = found->second;
  connection.stranger = false;
  // The system sizes the buffer again, as for any connection; before Linux 5.15 this sets the largest size.
  const int none = 0;
  if (setsockopt(connection.socket, SOL_SOCKET, SO_BUF_LOCK, &none, sizeof none) != 0) {
    SetOption(connection.socket, SOL_SOCKET, SO_RCVBUF, kFriendsBuffer);
  }
  --strangers_;
  strangers_by_number_.erase(connection.number);
  epoll_event event = {};
  event.events = kFriendsEvents;
  event.data.u64 = connection.number;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.socket, &event);
}

void Gate::WatchListeners(bool watched) {
  accepts_ = watched;
  for (size_t i = 0; i < listeners_.size(); ++i) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = i + 1;
    epoll_ctl(epoll_, watched ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, listeners_[i], &event);
  }
}

void Gate::Run() {
  std::array<epoll_event, 64> events = {};
  while (!closing_) {
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(UntilNext().count()));
    for (int i = 0; i < count && !closing_; ++i) {
      const uint64_t number = events[i].data.u64;
      if (number == kWakeNumber) continue;
      if (number < kFirstConnection) {
        if (accepts_) AcceptFrom(listeners_[number - 1]);
      } else {
        Event(number, events[i].events);
      }
    }
    EndOldStrangers();
    EndGreedyStrangers();
    if (!accepts_ && steady_clock::now() >= accept_again_) WatchListeners(true);
  }
}

milliseconds Gate::UntilNext() const {
  MutexLock lock(mutex_);
  if (suspicion_) return kLookEvery;
  std::optional<steady_clock::time_point> next;
  if (!accepts_) next = accept_again_;
  if (ended_some_) next = next ? std::min(*next, calm_from_) : calm_from_;
  if (!strangers_by_number_.empty()) {
    const auto end = connections_.at(strangers_by_number_.begin()->second).since + limits_.patience;
    next = next ? std::min(*next, end) : end;
  }
  if (!next) return milliseconds(-1);
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(*next - steady_clock::now()));
}

void Gate::AcceptFrom(int listener) {
  const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket >= 0) return HandOn(socket);
  if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return;
  WatchListeners(false);  // epoll would report it again at once
  accept_again_ = steady_clock::now() + kAcceptPause;
}

void Gate::HandOn(int socket) {
  const std::string peer = PeerOfSocket(socket);
  const int second = fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (peer.empty() || second < 0) {
    close(socket);
    if (second >= 0) close(second);
    return;
  }
  SetOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kVanishedMs));
  SetOption(socket, SOL_SOCKET, SO_RCVBUF, kStrangersBuffer);
  {
    MutexLock lock(mutex_);
    if (const auto old = connections_.find(peer); old != connections_.end())
      Forget(old);  // it ended just now
    const bool full = connections_.size() >= limits_.connections;
    if (full && strangers_by_number_.empty()) {
      close(socket);
      close(second);
      return;
    }
    if (full || strangers_by_number_.size() >= limits_.strangers) {
      const auto oldest = connections_.find(strangers_by_number_.begin()->second);
      End(oldest->second);
      Forget(oldest);
    }
    Connection& connection = connections_[peer];
    connection.number = next_++;
    connection.socket = second;
    connection.since = steady_clock::now();
    peers_[connection.number] = peer;
    strangers_by_number_[connection.number] = peer;
    ++strangers_;
    epoll_event event = {};
    event.events = kStrangersEvents;
    event.data.u64 = connection.number;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, second, &event);
  }
  {
    MutexLock lock(mutex_);
    accepted_.emplace_back(next_ - 1, socket);
  }
  handed_.NotifyOne();
}

// gRPC reads and unpacks on the handing thread as long as data is available. So that thread is separate from
// the watching one, and gRPC's own threads see the data that arrived earlier only afterwards.
void Gate::HandOver() {
  MutexLock lock(mutex_);
  while (true) {
    while (!closing_ && accepted_.empty()) handed_.Wait(mutex_);
    if (closing_) return;
    const auto [number, socket] = accepted_.front();
    accepted_.pop_front();
    handing_ = number;
    lock.Unlock();
    SetOption(socket, SOL_SOCKET, SO_RCVLOWAT, kStrangersBuffer);
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.fd = socket;
    acceptor_->HandleNewConnection(&parameters);
    lock.Lock();
    handing_ = 0;
    const auto peer = peers_.find(number);
    if (peer != peers_.end()) SetOption(connections_.at(peer->second).socket, SOL_SOCKET, SO_RCVLOWAT, 1);
  }
}

void Gate::Event(uint64_t number, uint32_t events) {
  MutexLock lock(mutex_);
  const auto peer = peers_.find(number);
  if (peer == peers_.end()) return;
  const auto found = connections_.find(peer->second);
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) return Forget(found);
  if (!found->second.stranger) return;
  found->second.bytes = BytesReceived(found->second.socket).value_or(found->second.bytes);
  if (found->second.bytes > limits_.bytes) End(found->second);
}

void Gate::EndOldStrangers() {
  MutexLock lock(mutex_);
  const auto end = steady_clock::now() - limits_.patience;
  while (!strangers_by_number_.empty()) {
    const auto oldest = connections_.find(strangers_by_number_.begin()->second);
    if (oldest->second.since > end) return;
    End(oldest->second);
    Forget(oldest);
  }
}

void Gate::EndGreedyStrangers() {
  const auto now = steady_clock::now();
  if (suspicion_ ? now - looked_ < kLookEvery : strangers_ == 0 && !ended_some_) return;
  looked_ = now;
  if (!LookAtStrangers(now) || !ended_some_ || now < calm_from_) return;
  malloc_trim(0);
  ended_some_ = false;
}

bool Gate::LookAtStrangers(steady_clock::time_point now) {
  // Admissions in the meantime do not wait for this.
  const int64_t heap = strangers_ == 0 ? 0 : HeapInUse();
  MutexLock lock(mutex_);
  int64_t all = 0, most = 0;
  for (const auto& [number, peer] : strangers_by_number_) {
    const int64_t bytes = connections_.at(peer).bytes;
    all += bytes;
    most = std::max(most, bytes);
  }
  const bool calm = most <= limits_.few_bytes && all <= 4 * limits_.few_bytes;
  if (calm) {
    suspicion_ = false;
    return true;
  }
  if (!suspicion_ && !ended_some_) calm_heap_ = heap;
  suspicion_ = true;
  const bool heavy = heap - calm_heap_ > limits_.heap + limits_.heap_factor * all;
  while (heavy || all > limits_.all_bytes) {
    const auto worst = Greediest();
    if (worst == connections_.end() || worst->second.bytes <= limits_.few_bytes / 16) break;
    all -= worst->second.bytes;
    if (!ended_some_) {
      spdlog::warn("gRPC: {} uses too much memory without an admitted call; closing its connections",
                   worst->first);
    }
    ended_some_ = true;
    calm_from_ = now + kMemoryReturns;
    End(worst->second);
    Forget(worst);
  }
  return false;
}

Gate::Connections::iterator Gate::Greediest() {
  auto worst = connections_.end();
  for (const auto& [number, peer] : strangers_by_number_) {
    const auto found = connections_.find(peer);
    if (worst == connections_.end() || found->second.bytes > worst->second.bytes) worst = found;
  }
  return worst;
}

// Discards data that was received and not read. gRPC sees the end, and closes its own descriptor.
void Gate::End(Connection& connection) {
  sockaddr nowhere = {};
  nowhere.sa_family = AF_UNSPEC;
  if (connect(connection.socket, &nowhere, sizeof nowhere) != 0) shutdown(connection.socket, SHUT_RDWR);
}

void Gate::Forget(Connections::iterator connection) {
  if (connection->second.stranger) --strangers_;
  strangers_by_number_.erase(connection->second.number);
  peers_.erase(connection->second.number);
  // While gRPC's descriptor is open, closing this one alone would leave the socket watched.
  epoll_ctl(epoll_, EPOLL_CTL_DEL, connection->second.socket, nullptr);
  close(connection->second.socket);
  accept_again_ = {};  // a descriptor is free
  connections_.erase(connection);
}

}  // namespace winnow
