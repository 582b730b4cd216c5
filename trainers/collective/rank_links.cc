#include "trainers/collective/rank_links.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "fmt/format.h"
#include "trainers/collective/group_error.h"
#include "trainers/collective/last_words.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Pulses that a waiting rank sends within the others' patience.
constexpr int kPulsesWhileWaiting = 4;

// Pulses without data suffice for this many times the patience: then the ranks wait for each other in a ring.
constexpr int kMostPatience = 4;

// Busy-waits briefly, because waking a thread takes longer than most answers, and a sleeper is woken on the
// waker's processor, where the two then alternate. After kAlone, or at once if ranks share a processor, each
// look yields to other work.
constexpr std::chrono::microseconds kWatch(100), kAlone(30);

constexpr int16_t kBroken = POLLRDHUP | POLLHUP | POLLERR;

bool IsCrowded(const std::vector<Socket>& sockets) {
  const auto here = std::count_if(sockets.begin(), sockets.end(), [](const Socket& socket) {
    return socket.is_open() && PeerEndpoint(socket).address == OwnEndpoint(socket).address;
  });
  return here + 1 > sysconf(_SC_NPROCESSORS_ONLN);
}

}  // namespace

RankLinks::RankLinks(int rank, std::vector<Socket> sockets, milliseconds patience)
    : rank_(rank),
      patience_(patience),
      crowded_(IsCrowded(sockets)),
      links_(sockets.size()),
      heard_(sockets.size()) {
  for (std::size_t r = 0; r < sockets.size(); ++r) {
    if (static_cast<int>(r) != rank) links_[r] = std::make_unique<Link>(std::move(sockets[r]));
    polled_.push_back({-1, 0, 0});
  }
}

RankLinks::~RankLinks() {
  Frame goodbye = operation_;
  goodbye.kind = FrameKind::kGoodbye;
  if (status_.ok()) SayLast(goodbye, "", patience_, patience_);
}

void RankLinks::Begin(Operation operation, uint64_t param) {
  operation_.operation = static_cast<uint8_t>(operation);
  operation_.param = param;
  ++operation_.sequence;
}

absl::Status RankLinks::Exchange(std::span<const Outgoing> out, std::span<const Incoming> in) {
  if (!status_.ok()) return status_;
  for (const Incoming& message : in) links_[message.from]->Expect(operation_, message.sink);
  for (const Outgoing& message : out) {
    bytes_sent_ += message.bytes.size();
    links_[message.to]->Start(operation_, message.bytes);
    links_[message.to]->Write();
  }
  for (const Incoming& message : in) links_[message.from]->Read();
  progress_ = steady_clock::now();
  next_pulse_ = progress_ + patience_ / kPulsesWhileWaiting;
  std::fill(heard_.begin(), heard_.end(), progress_);
  const auto waits = [&] {
    return std::any_of(out.begin(), out.end(), [&](const Outgoing& message) { return Waits(message.to); }) ||
           std::any_of(in.begin(), in.end(), [&](const Incoming& message) { return Waits(message.from); });
  };
  while (waits()) {
    if (Watch()) continue;
    if (absl::Status status = Await(); !status.ok()) return Fail(status);
  }
  return absl::OkStatus();
}

bool RankLinks::Waits(int rank) const { return links_[rank]->sending() || links_[rank]->receiving(); }

// Returns the errors that links report: ends, and messages that are not valid here. A stated reason precedes
// the mere end of a connection.
absl::Status RankLinks::CheckLinks() const {
  for (const auto& link : links_) {
    if (link != nullptr && link->ended() && !link->peer_error().ok()) return link->peer_error();
  }
  for (int r = 0; r < size(); ++r) {
    if (r == rank_) continue;
    const Link& link = *links_[r];
    if (link.garbage()) return SendsGarbage(r);
    if (link.unexpected().has_value())
      return OperationsDiffer(rank_, Describe(operation_.operation, operation_.param), r,
                              Describe(link.unexpected()->operation, link.unexpected()->param));
    if (!link.ended()) continue;
    if (!link.left_after().has_value()) return IsGone(r, link.why());
    if (*link.left_after() < operation_.sequence || Waits(r)) return IsGone(r, "it left the group");
  }
  return absl::OkStatus();
}

absl::Status RankLinks::CheckTime(Time now) {
  const std::string what = Describe(operation_.operation, operation_.param);
  uint64_t moved = 0;
  for (int r = 0; r < size(); ++r) {
    if (r == rank_) continue;
    if (Waits(r) && now - heard_[r] >= patience_) return StandsStill(r, what, patience_);
    moved += links_[r]->payload_moved();
  }
  if (moved != std::exchange(moved_, moved)) progress_ = now;
  if (now - progress_ >= kMostPatience * patience_)
    return absl::DeadlineExceededError(
        fmt::format("no rank goes on: nothing but signs of life for {} s in {}",
                    milliseconds(kMostPatience * patience_).count() / 1000, what));
  if (now < next_pulse_) return absl::OkStatus();
  next_pulse_ = now + patience_ / kPulsesWhileWaiting;
  for (int r = 0; r < size(); ++r) {
    if (r != rank_) links_[r]->WritePulse(operation_.sequence);
  }
  return absl::OkStatus();
}

// Transfers what is possible on the links of this step; false if that is nothing.
bool RankLinks::MoveNow() {
  bool any = false;
  for (int r = 0; r < size(); ++r) {
    if (r == rank_) continue;
    Link* const link = links_[r].get();
    bool moved = link->sending() && link->Write();
    moved |= link->receiving() && link->Read();
    if (!moved) continue;
    heard_[r] = steady_clock::now();
    any = true;
  }
  return any;
}

// Busy-waits for something to do, for a short time; after that it is time to sleep or to check timeouts.
bool RankLinks::Watch() {
  Time now = steady_clock::now();
  const Time give_way = crowded_ ? now : now + kAlone;
  for (const Time until = std::min(now + kWatch, next_pulse_); now < until; now = steady_clock::now()) {
    const bool broken = std::any_of(links_.begin(), links_.end(), [](const auto& link) {
      return link != nullptr && (link->ended() || link->garbage() || link->unexpected().has_value());
    });
    if (broken) return false;
    if (MoveNow()) return true;
    if (now >= give_way) sched_yield();
  }
  return false;
}

absl::Status RankLinks::Await() {
  if (absl::Status status = CheckLinks(); !status.ok()) return status;
  Time until = next_pulse_;
  for (int r = 0; r < size(); ++r) {
    if (r == rank_ || links_[r]->ended()) {
      polled_[r].fd = -1;
      continue;
    }
    polled_[r] = {links_[r]->fd(), links_[r]->events(), 0};
    if (Waits(r)) until = std::min(until, heard_[r] + patience_);
    if (links_[r]->has_unread()) until = Time();
  }
  const int ready = poll(polled_.data(), polled_.size(), MillisecondsTo(until));
  const Time now = steady_clock::now();
  for (int r = 0; r < size(); ++r) {
    if (polled_[r].fd < 0 || !links_[r]->has_unread()) continue;
    heard_[r] = now;
    Serve(links_[r].get(), POLLIN);
  }
  if (ready <= 0) return ready < 0 && errno == EINTR ? absl::OkStatus() : CheckTime(now);
  for (int r = 0; r < size(); ++r) {
    if (polled_[r].fd < 0 || polled_[r].revents == 0) continue;
    heard_[r] = now;
    Serve(links_[r].get(), polled_[r].revents);
  }
  // Other ranks may keep this rank awake while one is silent.
  return now < until ? absl::OkStatus() : CheckTime(now);
}

void RankLinks::Serve(Link* link, int16_t ready) {
  if (ready & POLLOUT) link->Write();
  // Reads the rest of a broken connection at once, requested or not: its end gives the reason.
  if (ready & kBroken && !(ready & POLLIN)) link->Drain();
  if (ready & POLLIN || link->ended()) link->Read();
}

absl::Status RankLinks::Fail(const absl::Status& error) {
  if (!status_.ok() || error.ok()) return status_;
  status_ = error;
  Frame last;
  last.kind = FrameKind::kFail;
  last.param = static_cast<uint64_t>(error.code());
  const std::string_view message(error.message().data(), error.message().size());
  SayLast(last, message.substr(0, kLongestReason), kLastWords, kUnheard);
  return status_;
}

void RankLinks::SayLast(const Frame& last, std::string_view text, milliseconds most, milliseconds unheard) {
  std::vector<Link*> open;
  for (const auto& link : links_) {
    if (link == nullptr || link->ended()) continue;
    link->Finish(last, text);
    open.push_back(link.get());
  }
  AwaitSent<Link>(open, most, unheard);
}

std::string RankLinks::Describe(uint8_t operation, uint64_t param) {
  switch (static_cast<Operation>(operation)) {
    case Operation::kSum64:
      return fmt::format("AllReduceSum of {} words", param);
    case Operation::kSum32:
      return fmt::format("AllReduceSum of {} 32-bit words", param);
    case Operation::kMax:
      return fmt::format("AllReduceMax of {} words", param);
    case Operation::kReduceScatter64:
      return fmt::format("ReduceScatterSum of {} words", param);
    case Operation::kReduceScatter32:
      return fmt::format("ReduceScatterSum of {} 32-bit words", param);
    case Operation::kAllGather:
      return "AllGather";
    case Operation::kAllGatherInPlace:
      return fmt::format("AllGatherInPlace of {} bytes", param);
    case Operation::kAllToAll:
      return "AllToAll";
    case Operation::kBroadcast:
      return fmt::format("Broadcast from rank {}", param);
  }
  return fmt::format("operation {}", operation);
}

}  // namespace winnow
