#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainers/collective/frame.h"
#include "trainers/collective/socket.h"

namespace winnow {

// The destination of a message's bytes as they arrive.
struct Sink {
  enum Kind { kCopy, kSum32, kSum64, kMax64, kText };
  Kind kind = kCopy;
  std::byte* data = nullptr;    // for a message of `size` bytes; sums and maxima are of words
  std::size_t size = 0;         // otherwise
  std::string* text = nullptr;  // kText: becomes the message, of any size

  // Bytes per combined word; 1 if words are not combined.
  std::size_t word() const;
};

// A connection to another rank: outgoing and incoming messages, and how it ended.
class Link {
 public:
  explicit Link(Socket socket);

  // One message at a time each way. `bytes` must stay valid until sending() is false.
  void Start(const Frame& about, std::span<const std::byte> bytes);
  void Expect(const Frame& about, const Sink& sink);
  bool sending() const { return sending_ || !control_.empty() || socket_.holds(); }
  bool receiving() const { return receiving_; }

  // Transfers what is possible now; returns whether that was anything.
  bool Write();
  bool Read();
  // Sends a pulse between data frames if there is room for one now.
  void WritePulse(uint32_t sequence);

  // The header of an unexpected message from the peer, of kind kData.
  const std::optional<Frame>& unexpected() const { return unexpected_; }

  // Something may have come that poll() does not tell, and there is room for it.
  bool has_unread() const { return !ended_ && socket_.has_unread() && has_room(); }
  // Why it ended, if the peer has not told; valid once ended().
  std::string why() const { return socket_.why(); }

  // The peer has sent something that no rank sends.
  bool garbage() const { return garbage_; }

  // Nothing more comes. Earlier data is kept.
  bool ended() const { return ended_; }
  // Valid once ended(): the reason with which the peer gave up (else OK), and the last operation before its
  // goodbye (none if it broke off without one).
  const absl::Status& peer_error() const { return peer_error_; }
  std::optional<uint32_t> left_after() const { return left_after_; }

  // The connection ended or broke: reads the rest of it.
  void Drain();

  // Bytes of messages, both ways.
  uint64_t payload_moved() const { return payload_moved_; }

  // The poll() events to wait for; none once it has ended.
  int16_t events() const;
  int fd() const { return socket_.fd(); }

  // Queues the last frame, a failure or a goodbye, after the current one; Write() sends it.
  void Finish(const Frame& last, std::string_view text);
  // Ends the sending side. REQUIRES: !sending().
  void EndSending() const { socket_.EndSending(); }
  // Bytes in this machine's send buffer.
  int Unsent() const { return socket_.Unsent(); }
  // Reads and discards what has come.
  void Discard();

 private:
  std::size_t buffered() const { return end_ - begin_; }
  bool has_room() const { return buffered() < buffer_.size() || in_frame_left_ > 0; }
  enum Filled { kNothing, kSome, kAll };  // how much of the available room was filled

  bool Consume();
  bool TakeFrame();
  Filled Fill();
  void Deliver(const std::byte* data, std::size_t size);
  void ScanEnd();
  void NextFrame();

  Socket socket_;

  // Outgoing. `head_` is the current frame's header: `head_left_` bytes of it remain, then `frame_left_` of
  // its data.
  bool sending_ = false;
  Frame head_;
  std::size_t head_left_ = 0, frame_left_ = 0;
  std::span<const std::byte> out_;  // unsent bytes, including the current frame's
  std::string control_;             // complete small frames, sent before the next data frame

  // Incoming. Received but unused bytes are [begin_, end_) of the buffer.
  bool receiving_ = false;
  Frame expected_;
  Sink sink_;
  std::size_t received_ = 0;       // bytes of the message
  std::size_t in_frame_left_ = 0;  // of the current data frame
  bool first_frame_ = false;
  std::optional<Frame> unexpected_;
  bool garbage_ = false;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0, end_ = 0;

  uint64_t payload_moved_ = 0;
  bool ended_ = false;
  absl::Status peer_error_;
  std::optional<uint32_t> left_after_;
};

}  // namespace winnow
