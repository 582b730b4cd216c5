#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/collective/message_head.h"
#include "trainers/collective/socket.h"

namespace winnow {

// One connection to another rank that messages go over. Any thread may send; one thread, the reader, does the
// rest.
class MessageLink {
 public:
  explicit MessageLink(Socket socket);

  // Waits until the other rank has taken so much of what was sent that there is room for a message.
  void AwaitRoom();
  // The other rank has taken so many bytes; false if that is more than were sent.
  bool Taken(uint64_t bytes);
  // Nobody waits for room from now on.
  void Release();

  // Sends what the connection takes at once and keeps a copy of the rest; kKept if it is the first that is
  // kept: then the reader must hear of it. After a goodbye no message is sent: kRefused.
  enum class Sent { kGone, kKept, kRefused };
  Sent Send(const MessageHead& head, std::span<const std::byte> bytes);

  // All below: the reader.

  // What is kept, when there is room for it. True if anything was sent.
  bool Write();
  bool sending() const;
  bool said_goodbye() const;

  // Of what has come, calls `deliver` for each head with its bytes, which says whether it belongs here.
  using Deliver = std::function<bool(const MessageHead& head, std::string bytes)>;
  enum class Heard { kNothing, kSomething, kGarbage };
  Heard Read(const Deliver& deliver);

  // Nothing more comes; everything that came before has been delivered.
  bool ended() const { return ended_; }
  int fd() const { return socket_.fd(); }

  // What is kept is dropped, but for a message under way; then come the last words.
  void Finish(const MessageHead& last, std::string_view text);
  void EndSending() const { socket_.EndSending(); }
  int Unsent() const { return socket_.Unsent(); }
  // Reads what has come and forgets it.
  void Discard();

 private:
  bool TakeHead();
  bool ReadSome();

  const Socket socket_;

  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::deque<std::string> kept_;  // guarded by mutex_, like all of this paragraph; heads with their bytes
  std::size_t sent_of_first_ = 0;
  bool first_under_way_ = false;  // some of it, or of its head, was sent
  bool goodbye_ = false;          // was sent
  bool closed_ = false;           // nothing more can be sent
  bool released_ = false;
  uint64_t not_taken_ = 0;

  // The reader's. What was received and not yet used is [begin_, end_) of the buffer.
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  bool within_ = false;  // the bytes of head_ are coming
  MessageHead head_;
  std::string body_;  // of which [0, received_) has come
  std::size_t received_ = 0;
  bool ended_ = false;
};

}  // namespace winnow
