#include "trainers/collective/messenger.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include "trainers/collective/frame.h"
#include "trainers/collective/group_error.h"
#include "trainers/collective/last_words.h"
#include "trainers/collective/mesh.h"
#include "trainers/collective/message_box.h"
#include "trainers/collective/message_link.h"

namespace winnow {
namespace {

using std::chrono::steady_clock;

// Pulses that an idle rank sends within the others' patience.
constexpr int kPulsesPerPatience = 4;

// Acknowledge after this many bytes: far fewer than the limit of bytes in flight.
constexpr uint64_t kTellTaken = 8 << 20;

// Wakes a thread that polls it.
class Bell {
 public:
  Bell() : event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  void Ring() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(event_.fd(), &one, sizeof one);
  }
  void Hush() const {
    uint64_t rings = 0;
    [[maybe_unused]] const ssize_t got = read(event_.fd(), &rings, sizeof rings);
  }
  int fd() const { return event_.fd(); }

 private:
  const Socket event_;
};

// Callers send on the connections themselves; the messenger's own thread reads, sends what was kept, and
// detects silent peers.
class TcpMessenger final : public Messenger {
 public:
  TcpMessenger(int rank, std::vector<Socket> sockets, std::chrono::milliseconds patience)
      : rank_(rank),
        patience_(patience),
        box_(static_cast<int>(sockets.size())),
        links_(sockets.size()),
        untold_(sockets.size()),
        heard_(sockets.size(), steady_clock::now()) {
    for (std::size_t r = 0; r < sockets.size(); ++r) {
      if (static_cast<int>(r) != rank) links_[r] = std::make_unique<MessageLink>(std::move(sockets[r]));
    }
    if (size() > 1) thread_ = std::thread([this] { Serve(); });
  }
  ~TcpMessenger() override {
    if (!box_.all_closed()) End(IsGone(rank_, "it left the group"));
    if (thread_.joinable()) thread_.join();
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(links_.size()); }
  uint64_t bytes_sent() const override { return bytes_sent_; }

  absl::Status Send(int to, uint32_t tag, std::span<const std::byte> bytes) override;
  absl::StatusOr<Message> Receive(int from, uint32_t tag) override { return Take(from, tag); }
  absl::StatusOr<Message> ReceiveAny(uint32_t tag) override { return Take(std::nullopt, tag); }
  absl::Status Close() override;
  void Fail(const absl::Status& reason) override {
    if (!reason.ok()) End(OfRank(rank_, reason));
  }

 private:
  using Time = steady_clock::time_point;

  absl::StatusOr<Message> Take(std::optional<int> from, uint32_t tag);
  bool Hand(int to, const MessageHead& head, std::span<const std::byte> bytes = {});
  void End(const absl::Status& error);

  void Serve();
  void Await(Time until);
  void Read(int from);
  bool Handle(int from, const MessageHead& head, std::string bytes);
  void CheckEnds();
  void CheckTime(Time now);
  bool Done(int with) const;
  bool AllDone() const;
  void SayLast();

  const int rank_;
  const std::chrono::milliseconds patience_;
  MessageBox box_;
  std::vector<std::unique_ptr<MessageLink>> links_;  // by rank; null at rank_
  std::vector<std::atomic<uint64_t>> untold_;        // by rank: bytes taken and not acknowledged
  std::atomic<uint64_t> bytes_sent_ = 0;
  std::atomic<bool> closing_ = false;
  Bell bell_;

  // Used by the thread alone.
  std::vector<pollfd> polled_;
  std::vector<Time> heard_;  // by rank
  std::thread thread_;
};

absl::Status TcpMessenger::Send(int to, uint32_t tag, std::span<const std::byte> bytes) {
  if (to != rank_) links_[to]->AwaitRoom();
  if (absl::Status status = box_.status(); !status.ok()) return status;
  const absl::Status closed = absl::FailedPreconditionError("closed: nothing more can be sent");
  if (to == rank_) {
    if (closing_) return closed;
    box_.Put(rank_, tag, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    return absl::OkStatus();
  }
  MessageHead head;
  head.tag = tag;
  head.size = bytes.size();
  if (!Hand(to, head, bytes)) return closed;
  bytes_sent_ += bytes.size();
  return absl::OkStatus();
}

// False for a message after the goodbye.
bool TcpMessenger::Hand(int to, const MessageHead& head, std::span<const std::byte> bytes) {
  const MessageLink::Sent sent = links_[to]->Send(head, bytes);
  if (sent == MessageLink::Sent::kKept) bell_.Ring();
  return sent != MessageLink::Sent::kRefused;
}

absl::StatusOr<Message> TcpMessenger::Take(std::optional<int> from, uint32_t tag) {
  absl::StatusOr<Message> message = box_.Take(from, tag);
  if (!message.ok() || message->from == rank_) return message;
  std::atomic<uint64_t>& untold = untold_[message->from];
  const uint64_t bytes = sizeof(MessageHead) + message->bytes.size();
  if (untold.fetch_add(bytes) + bytes < kTellTaken) return message;
  MessageHead taken;
  taken.kind = MessageKind::kTaken;
  taken.size = untold.exchange(0);
  Hand(message->from, taken);
  return message;
}

absl::Status TcpMessenger::Close() {
  if (!closing_.exchange(true)) {
    MessageHead goodbye;
    goodbye.kind = MessageKind::kGoodbye;
    for (int r = 0; r < size(); ++r) {
      if (r != rank_) Hand(r, goodbye);
    }
    box_.Close(rank_);
    bell_.Ring();
  }
  return box_.AwaitClosed();
}

// The exchange is over; the thread informs the others.
void TcpMessenger::End(const absl::Status& error) {
  if (!box_.Fail(error)) return;
  for (const auto& link : links_) {
    if (link != nullptr) link->Release();
  }
  bell_.Ring();
}

void TcpMessenger::Serve() {
  Time next_pulse = steady_clock::now();
  while (box_.status().ok() && !AllDone()) {
    Time until = next_pulse;
    for (int r = 0; r < size(); ++r) {
      if (!Done(r)) until = std::min(until, heard_[r] + patience_);
    }
    Await(until);
    CheckEnds();
    const Time now = steady_clock::now();
    if (now >= until) CheckTime(now);
    if (now < next_pulse) continue;
    next_pulse = now + patience_ / kPulsesPerPatience;
    MessageHead pulse;
    pulse.kind = MessageKind::kPulse;
    for (int r = 0; r < size(); ++r) {
      if (!Done(r) && !links_[r]->sending()) Hand(r, pulse);
    }
  }
  SayLast();
}

void TcpMessenger::Await(Time until) {
  polled_.assign(links_.size() + 1, {-1, 0, 0});
  polled_.back() = {bell_.fd(), POLLIN, 0};
  for (int r = 0; r < size(); ++r) {
    if (r == rank_ || links_[r]->ended()) continue;
    polled_[r] = {links_[r]->fd(), static_cast<short>(POLLIN | (links_[r]->sending() ? POLLOUT : 0)), 0};
  }
  const bool has_unread = std::any_of(links_.begin(), links_.end(),
                                      [](const auto& link) { return link != nullptr && link->has_unread(); });
  const int ready = poll(polled_.data(), polled_.size(), has_unread ? 0 : MillisecondsTo(until));
  for (int r = 0; has_unread && r < size(); ++r) {
    if (r != rank_ && links_[r]->has_unread()) Read(r);
  }
  if (ready <= 0) return;
  if (polled_.back().revents != 0) bell_.Hush();
  for (int r = 0; r < size(); ++r) {
    if (polled_[r].revents & POLLOUT) links_[r]->Write();
    if (polled_[r].revents & ~POLLOUT) Read(r);
  }
}

void TcpMessenger::Read(int from) {
  const MessageLink::Heard heard = links_[from]->Read(
      [&](const MessageHead& head, std::string bytes) { return Handle(from, head, std::move(bytes)); });
  if (heard == MessageLink::Heard::kGarbage) End(SendsGarbage(from));
  if (heard == MessageLink::Heard::kSomething) heard_[from] = steady_clock::now();
}

// False if such a head is not valid now.
bool TcpMessenger::Handle(int from, const MessageHead& head, std::string bytes) {
  switch (head.kind) {
    case MessageKind::kMessage:
      if (box_.closed(from)) return false;
      box_.Put(from, head.tag, std::move(bytes));
      return true;
    case MessageKind::kTaken:
      return links_[from]->Taken(head.size);
    case MessageKind::kPulse:
      return true;
    case MessageKind::kFail:
      if (head.tag == 0) return false;
      End(absl::Status(static_cast<absl::StatusCode>(head.tag), bytes));
      return true;
    case MessageKind::kGoodbye:
      if (box_.closed(from)) return false;
      box_.Close(from);
      return true;
  }
  return false;
}

// Both this rank and that one have sent their goodbyes.
bool TcpMessenger::Done(int with) const {
  return with == rank_ || (box_.closed(with) && links_[with]->said_goodbye() && !links_[with]->sending());
}

bool TcpMessenger::AllDone() const {
  for (int r = 0; r < size(); ++r) {
    if (!Done(r)) return false;
  }
  return true;
}

void TcpMessenger::CheckEnds() {
  for (int r = 0; r < size(); ++r) {
    if (r != rank_ && links_[r]->ended() && !Done(r))
      End(IsGone(r, box_.closed(r) ? "it left the group" : links_[r]->why()));
  }
}

// After SIGSTOP our own clock is stale: drains all sockets before declaring a peer dead.
void TcpMessenger::CheckTime(Time now) {
  for (int r = 0; r < size(); ++r) {
    if (!Done(r)) Read(r);
  }
  CheckEnds();
  for (int r = 0; r < size(); ++r) {
    if (!Done(r) && now - heard_[r] >= patience_) End(StandsStill(r, "the exchange of messages", patience_));
  }
}

void TcpMessenger::SayLast() {
  const absl::Status status = box_.status();
  MessageHead last;
  last.kind = MessageKind::kFail;
  last.tag = static_cast<uint32_t>(status.code());
  const std::string_view text =
      std::string_view(status.message().data(), status.message().size()).substr(0, kLongestReason);
  last.size = text.size();
  std::vector<MessageLink*> open;
  for (const auto& link : links_) {
    if (link == nullptr || link->ended()) continue;
    if (!status.ok()) link->Finish(last, text);
    open.push_back(link.get());
  }
  AwaitSent<MessageLink>(open, status.ok() ? patience_ : kLastWords, status.ok() ? patience_ : kUnheard);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Messenger>> ConnectMessenger(Communicator* group,
                                                            const MessengerOptions& options) {
  const std::chrono::milliseconds patience = options.patience.value_or(group->patience());
  absl::StatusOr<std::vector<Socket>> sockets = ConnectAgain(group, patience);
  if (!sockets.ok()) return sockets.status();
  return std::make_unique<TcpMessenger>(group->rank(), *std::move(sockets), patience);
}

}  // namespace winnow
