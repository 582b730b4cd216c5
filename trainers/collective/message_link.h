#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "trainers/collective/socket.h"

namespace winnow {

// The protocol between two ranks that exchange messages: heads, each followed by the bytes of its message or
// reason. Integers are little-endian.
static_assert(std::endian::native == std::endian::little);

enum class MessageKind : uint8_t {
  kMessage,
  kTaken,    // the receiver has taken `size` bytes, including heads
  kPulse,    // the sender is alive
  kFail,     // the sender's last: `tag` is the status code, the bytes are the error
  kGoodbye,  // no message comes after it
};

struct MessageHead {
  uint16_t mark = kMark;
  MessageKind kind = MessageKind::kMessage;
  uint8_t unused = 0;
  uint32_t tag = 0;
  uint64_t size = 0;  // bytes that follow, for kinds that have some

  static constexpr uint16_t kMark = 0xa74d;  // identifies a valid head
};
static_assert(sizeof(MessageHead) == 16);

// A connection to another rank for messages. Any thread may send; one thread, the reader, does the rest.
class MessageLink {
 public:
  explicit MessageLink(Socket socket);

  // Waits until the peer has taken enough of what was sent that there is room for a message.
  void AwaitRoom();
  // The peer has taken this many bytes; false if that is more than were sent.
  bool Taken(uint64_t bytes);
  // Ends all waits for room, now and later.
  void Release();

  // Sends what the connection accepts at once and keeps a copy of the rest. kKept: this is the first that is
  // kept, so the reader must be woken. kRefused: no message may follow a goodbye.
  enum class Sent { kGone, kKept, kRefused };
  Sent Send(const MessageHead& head, std::span<const std::byte> bytes);

  // All below: called by the reader only.

  // Sends kept bytes if there is room. True if anything was sent.
  bool Write();
  bool sending() const;
  bool said_goodbye() const;

  // Calls `deliver` for each received head with its bytes; `deliver` returns whether the head is valid here.
  using Deliver = std::function<bool(const MessageHead& head, std::string bytes)>;
  enum class Heard { kNothing, kSomething, kGarbage };
  Heard Read(const Deliver& deliver);

  // Something may have come that poll() does not tell.
  bool has_unread() const { return !ended_ && socket_.has_unread(); }
  // Nothing more comes; everything received has been delivered.
  bool ended() const { return ended_; }
  std::string why() const { return socket_.why(); }
  int fd() const { return socket_.fd(); }

  // Drops kept bytes except the message in transmission; then sends `last` with `text`.
  void Finish(const MessageHead& last, std::string_view text);
  void EndSending() const { socket_.EndSending(); }
  int Unsent() const { return socket_.Unsent(); }
  // Reads and discards what has come.
  void Discard();

 private:
  bool TakeHead();
  bool ReadSome();

  const Socket socket_;

  mutable Mutex mutex_;
  CondVar room_;
  std::deque<std::string> kept_ ABSL_GUARDED_BY(mutex_);  // heads with their bytes
  std::size_t sent_of_first_ ABSL_GUARDED_BY(mutex_) = 0;
  bool first_under_way_ ABSL_GUARDED_BY(mutex_) = false;  // some of it, or of its head, was sent
  bool goodbye_ ABSL_GUARDED_BY(mutex_) = false;          // the goodbye was sent
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;           // nothing more can be sent
  bool released_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t not_taken_ ABSL_GUARDED_BY(mutex_) = 0;

  // The reader's. Received but unused bytes are [begin_, end_) of the buffer.
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  bool within_ = false;  // the bytes of head_ are arriving
  MessageHead head_;
  std::string body_;  // [0, received_) has arrived
  std::size_t received_ = 0;
  bool ended_ = false;
};

}  // namespace winnow
