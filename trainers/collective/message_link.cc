#include "trainers/collective/message_link.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "trainers/collective/frame.h"

namespace winnow {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;

// Flow control: the most bytes in flight to a peer that does not read.
constexpr uint64_t kMostNotTaken = 64 << 20;

// A long message's memory grows in steps as it arrives: a step is still in the cache when it is filled.
constexpr std::size_t kStepBytes = 256 << 10;

// Memory reserved on a head's word alone.
constexpr std::size_t kMostBodyOnTrust = 256 << 20;

// Pieces passed to one system call.
constexpr std::size_t kMostPieces = 16;

// Reads in one turn, before another link's.
constexpr int kMostReads = 16;

bool HasBytes(const MessageHead& head) {
  return head.kind == MessageKind::kMessage || head.kind == MessageKind::kFail;
}

bool IsHead(const MessageHead& head) {
  if (head.mark != MessageHead::kMark || head.unused != 0 || head.kind > MessageKind::kGoodbye) return false;
  return head.kind != MessageKind::kFail || head.size <= kLongestReason;
}

}  // namespace

MessageLink::MessageLink(Socket socket) : socket_(std::move(socket)), buffer_(kReadBytes) {}

void MessageLink::AwaitRoom() {
  MutexLock lock(mutex_);
  while (!released_ && not_taken_ >= kMostNotTaken) room_.Wait(mutex_);
}

bool MessageLink::Taken(uint64_t bytes) {
  MutexLock lock(mutex_);
  if (bytes > not_taken_) return false;
  not_taken_ -= bytes;
  room_.NotifyAll();
  return true;
}

void MessageLink::Release() {
  MutexLock lock(mutex_);
  released_ = true;
  room_.NotifyAll();
}

MessageLink::Sent MessageLink::Send(const MessageHead& head, std::span<const std::byte> bytes) {
  MutexLock lock(mutex_);
  if (head.kind == MessageKind::kMessage && goodbye_) return Sent::kRefused;
  if (closed_) return Sent::kGone;
  if (head.kind == MessageKind::kMessage) not_taken_ += sizeof head + bytes.size();
  goodbye_ = goodbye_ || head.kind == MessageKind::kGoodbye;
  std::size_t sent = 0;
  if (kept_.empty()) {
    std::array<iovec, 2> pieces = {{{const_cast<MessageHead*>(&head), sizeof head},
                                    {const_cast<std::byte*>(bytes.data()), bytes.size()}}};
    const std::ptrdiff_t moved = socket_.Send({pieces.data(), bytes.empty() ? std::size_t{1} : 2});
    closed_ = moved == Socket::kEnded;
    if (closed_) return Sent::kGone;
    sent = static_cast<std::size_t>(moved);
    if (sent == sizeof head + bytes.size()) return socket_.holds() ? Sent::kKept : Sent::kGone;
  }
  std::string rest;
  rest.reserve(sizeof head + bytes.size() - sent);
  if (sent < sizeof head) rest.append(reinterpret_cast<const char*>(&head) + sent, sizeof head - sent);
  const std::size_t skipped = sent < sizeof head ? 0 : sent - sizeof head;
  rest.append(reinterpret_cast<const char*>(bytes.data()) + skipped, bytes.size() - skipped);
  const bool first = kept_.empty();
  if (first) first_under_way_ = sent > 0;
  kept_.push_back(std::move(rest));
  return first ? Sent::kKept : Sent::kGone;
}

bool MessageLink::Write() {
  MutexLock lock(mutex_);
  bool any = socket_.Flush() > 0;
  while (!kept_.empty()) {
    std::array<iovec, kMostPieces> pieces;
    std::size_t count = 0, wanted = 0;
    for (auto piece = kept_.begin(); piece != kept_.end() && count < pieces.size(); ++piece, ++count) {
      const std::size_t skipped = count == 0 ? sent_of_first_ : 0;
      pieces[count] = {piece->data() + skipped, piece->size() - skipped};
      wanted += pieces[count].iov_len;
    }
    const std::ptrdiff_t moved = socket_.Send({pieces.data(), count});
    if (moved == Socket::kEnded) {
      closed_ = true;
      kept_.clear();
    }
    if (moved <= 0) return any;
    any = true;
    std::size_t left = static_cast<std::size_t>(moved);
    while (left > 0 && left >= kept_.front().size() - sent_of_first_) {
      left -= kept_.front().size() - std::exchange(sent_of_first_, 0);
      kept_.pop_front();
    }
    sent_of_first_ += left;
    first_under_way_ = sent_of_first_ > 0;
    if (static_cast<std::size_t>(moved) < wanted) return true;
  }
  return any;
}

bool MessageLink::sending() const {
  MutexLock lock(mutex_);
  return !kept_.empty() || socket_.holds();
}

bool MessageLink::said_goodbye() const {
  MutexLock lock(mutex_);
  return goodbye_;
}

void MessageLink::Finish(const MessageHead& last, std::string_view text) {
  MutexLock lock(mutex_);
  if (closed_) return;
  kept_.resize(first_under_way_ && !kept_.empty() ? 1 : 0);
  std::string words(reinterpret_cast<const char*>(&last), sizeof last);
  words += text;
  kept_.push_back(std::move(words));
  closed_ = true;
}

MessageLink::Heard MessageLink::Read(const Deliver& deliver) {
  bool any = false;
  for (int i = 0; i < kMostReads && !ended_; ++i) {
    if (!ReadSome()) break;
    any = true;
    while (true) {
      if (within_) {
        const std::size_t size = std::min<std::size_t>(end_ - begin_, head_.size - received_);
        if (size > 0) {
          if (body_.size() < received_ + size) body_.resize(received_ + size);
          std::memcpy(body_.data() + received_, buffer_.data() + begin_, size);
        }
        begin_ += size;
        received_ += size;
        if (received_ < head_.size) break;
        body_.resize(received_);
      } else if (end_ - begin_ < sizeof head_) {
        break;
      } else if (!TakeHead()) {
        return Heard::kGarbage;
      } else if (within_) {
        continue;
      }
      within_ = false;
      received_ = 0;
      if (!deliver(head_, std::exchange(body_, {}))) return Heard::kGarbage;
    }
  }
  return any ? Heard::kSomething : Heard::kNothing;
}

bool MessageLink::TakeHead() {
  std::memcpy(&head_, buffer_.data() + begin_, sizeof head_);
  if (!IsHead(head_)) return false;
  begin_ += sizeof head_;
  within_ = HasBytes(head_);
  if (within_) body_.reserve(std::min<std::size_t>(head_.size, kMostBodyOnTrust));
  return true;
}

// Receives into the current message, and into the buffer what follows it. REQUIRES: the buffer has less than
// a head, or nothing if there is a current message.
bool MessageLink::ReadSome() {
  if (begin_ > 0) std::copy(buffer_.begin() + begin_, buffer_.begin() + end_, buffer_.begin());
  end_ -= std::exchange(begin_, 0);
  std::array<iovec, 2> pieces;
  std::size_t count = 0, direct = 0;
  if (within_) {
    direct = std::min<std::size_t>(head_.size - received_, kStepBytes);
    if (body_.size() < received_ + direct) body_.resize(received_ + direct);
    pieces[count++] = {body_.data() + received_, direct};
  }
  if (!within_ || received_ + direct == head_.size)
    pieces[count++] = {buffer_.data() + end_, buffer_.size() - end_};
  const std::ptrdiff_t moved = socket_.Receive({pieces.data(), count});
  ended_ = moved == Socket::kEnded;
  if (moved <= 0) return false;
  const std::size_t placed = std::min(direct, static_cast<std::size_t>(moved));
  received_ += placed;
  end_ += static_cast<std::size_t>(moved) - placed;
  return true;
}

void MessageLink::Discard() {
  iovec piece{buffer_.data(), buffer_.size()};
  std::ptrdiff_t moved = 0;
  while (!ended_ && (moved = socket_.Receive({&piece, 1})) != Socket::kWouldBlock)
    ended_ = moved == Socket::kEnded;
}

}  // namespace winnow
