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

// Where the bytes of a message go as they come.
struct Sink {
  enum Kind { kCopy, kSum32, kSum64, kMax64, kText };
  Kind kind = kCopy;
  std::byte* data = nullptr;    // of a message of `size` bytes; sums and largest are of words
  std::size_t size = 0;         // else
  std::string* text = nullptr;  // kText: becomes the message, of any size

  // Bytes of the words that are combined; 1 where none are.
  std::size_t word() const;
};

// One connection to another rank: messages out, messages in, and how it ended.
class Link {
 public:
  explicit Link(Socket socket);

  // One message at a time each way. `bytes` stays with the caller until sending() is false.
  void Start(const Frame& about, std::span<const std::byte> bytes);
  void Expect(const Frame& about, const Sink& sink);
  bool sending() const { return sending_ || !control_.empty(); }
  bool receiving() const { return receiving_; }

  // Move what can be moved now; true if that was anything.
  bool Write();
  bool Read();
  // Sends a word between the data frames, if there is room for one now.
  void WritePulse(uint32_t sequence);

  // What the other end sends that was not expected: its header, whose kind is kData.
  const std::optional<Frame>& unexpected() const { return unexpected_; }

  // The other end sends what no rank sends.
  bool garbage() const { return garbage_; }

  // Nothing more comes. What was read before is kept.
  bool ended() const { return ended_; }
  // Valid once ended(): the reason the peer gave for giving up (else OK), and after which operation it left
  // (none where it broke off without a word).
  const absl::Status& peer_error() const { return peer_error_; }
  std::optional<uint32_t> left_after() const { return left_after_; }

  // The connection ended or broke: reads all that is left of it.
  void Drain();

  // Bytes of messages, both ways.
  uint64_t payload_moved() const { return payload_moved_; }

  // poll() events to wait for; none once it has ended.
  int16_t events() const;
  int fd() const { return socket_.fd(); }

  // The last words, after the frame that is under way: a failure or a goodbye, sent by Write().
  void Finish(const Frame& last, std::string_view text);
  // What was said is the end. REQUIRES: !sending().
  void EndSending() const { socket_.EndSending(); }
  // Bytes that wait on this machine to be sent.
  int Unsent() const { return socket_.Unsent(); }
  // Reads what has come and forgets it; the messages are of no more use.
  void Discard();

 private:
  std::size_t buffered() const { return end_ - begin_; }
  enum Filled { kNothing, kSome, kAll };  // of what there was room for

  bool Consume();
  bool TakeFrame();
  Filled Fill();
  void Deliver(const std::byte* data, std::size_t size);
  void ScanEnd();
  void NextFrame();

  Socket socket_;

  // Out. `head_` is the frame under way: its header has `head_left_` bytes to go, then its data
  // `frame_left_`.
  bool sending_ = false;
  Frame head_;
  std::size_t head_left_ = 0, frame_left_ = 0;
  std::span<const std::byte> out_;  // not yet sent, the frame under way included
  std::string control_;             // whole small frames, sent before the next data frame

  // In. What was received and not yet used is [begin_, end_) of the buffer.
  bool receiving_ = false;
  Frame expected_;
  Sink sink_;
  std::size_t received_ = 0;       // bytes of the message
  std::size_t in_frame_left_ = 0;  // of the data frame under way
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
