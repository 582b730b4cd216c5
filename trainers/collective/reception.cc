#include "trainers/collective/reception.h"

#include <poll.h>

#include <algorithm>

namespace winnow {
namespace {

using std::chrono::steady_clock;

// A hello is one packet, sent at once. A handshake takes turns, and both ends may be slow.
constexpr std::chrono::seconds kPatience(5), kHandshakePatience(30);

// Beyond this, the connection that has waited longest is closed.
constexpr std::size_t kMostVisits = 256;

}  // namespace

int Reception::Await(std::span<const Socket> guests, Deadline deadline) {
  std::vector<pollfd> polled;
  for (const Socket& guest : guests) polled.push_back({guest.fd(), POLLRDHUP, 0});
  polled.push_back({listener_->fd(), POLLIN, 0});
  Deadline until = deadline;
  for (const Visit& visit : visits_) {
    polled.push_back({visit.socket.fd(), visit.events, 0});
    until = std::min(until, visit.until);
  }
  poll(polled.data(), polled.size(), MillisecondsTo(until));
  for (std::size_t i = 0; i < guests.size(); ++i) {
    if (polled[i].revents != 0) return static_cast<int>(i);
  }
  const auto now = steady_clock::now();
  auto ready = polled.begin() + static_cast<std::ptrdiff_t>(guests.size()) + 1;
  for (auto visit = visits_.begin(); visit != visits_.end(); ++ready) {
    const bool over = ready->revents != 0 ? !Listen(&*visit) : visit->until <= now;
    visit = over ? visits_.erase(visit) : std::next(visit);
  }
  for (Socket socket = AcceptFrom(*listener_); socket.is_open(); socket = AcceptFrom(*listener_)) {
    if (visits_.size() == kMostVisits) visits_.pop_front();
    socket.StartTls(identity_, TlsStream::Side::kAccepts);
    const bool secure = identity_ != nullptr;
    visits_.push_back(
        {std::move(socket), now + (secure ? kHandshakePatience : kPatience), {}, 0, secure, POLLIN});
    if (!Listen(&visits_.back())) visits_.pop_back();
  }
  return -1;
}

void Reception::Refuse(const Visit& visit, const std::string& why) {
  refused_ = ToText(PeerEndpoint(visit.socket)) + ": " + why;
}

// False: it failed. Afterwards visit->shakes_hands says whether it is still under way.
bool Reception::ShakeHands(Visit* visit) {
  const TlsStream::Handshake step = visit->socket.tls()->ShakeHands();
  if (step == TlsStream::Handshake::kFailed) {
    const std::string why = visit->socket.tls()->why();
    if (!why.empty()) Refuse(*visit, why);
    return false;
  }
  visit->shakes_hands = step != TlsStream::Handshake::kDone;
  visit->events = step == TlsStream::Handshake::kWrites ? POLLOUT : POLLIN;
  return true;
}

bool Reception::Listen(Visit* visit) {
  if (visit->shakes_hands) {
    if (!ShakeHands(visit)) return false;
    if (visit->shakes_hands) return true;
  }
  iovec piece{reinterpret_cast<char*>(&visit->hello) + visit->received, sizeof(Hello) - visit->received};
  const std::ptrdiff_t moved = visit->socket.Receive({&piece, 1});
  if (moved == Socket::kEnded) return false;
  visit->received += static_cast<std::size_t>(moved);
  if (visit->received >= sizeof(uint64_t) && visit->hello.magic != kHelloMagic) return false;
  if (visit->received < sizeof(Hello)) return true;
  if (visit->socket.tls() != nullptr) {
    const absl::Status named = visit->socket.tls()->CheckPeer(static_cast<int>(visit->hello.rank));
    if (!named.ok()) {
      Refuse(*visit, std::string(named.message().data(), named.message().size()));
      return false;
    }
  }
  visitor_(visit->hello, &visit->socket);
  return false;
}

}  // namespace winnow
