#include "trainers/collective/link.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <utility>

namespace winnow {
namespace {

// Limit of one system call; sums are made while the bytes are in the nearest cache.
constexpr std::size_t kBufferBytes = 64 << 10;

// Memory reserved for a text on its first frame's word alone; beyond it grows with its frames.
constexpr std::size_t kMostOnTrust = 256 << 20;

// Sent in one turn, before this rank reads.
constexpr int kMostFrames = 4;

template <typename Word, typename Op>
void Combine(std::byte* to, const std::byte* from, std::size_t bytes, Op op) {
  for (std::size_t i = 0; i < bytes; i += sizeof(Word)) {
    Word a, b;
    std::memcpy(&a, to + i, sizeof a);
    std::memcpy(&b, from + i, sizeof b);
    a = op(a, b);
    std::memcpy(to + i, &a, sizeof a);
  }
}

bool SameMessage(const Frame& a, const Frame& b) {
  return a.operation == b.operation && a.sequence == b.sequence && a.param == b.param;
}

// False for a header that no rank sends.
bool IsFrame(const Frame& frame) {
  constexpr uint64_t longest[] = {kLongestFrame, 0, kLongestReason, 0};  // by kind
  const auto kind = static_cast<std::size_t>(frame.kind);
  return kind < std::size(longest) && frame.length <= longest[kind];
}

}  // namespace

std::size_t Sink::word() const {
  if (kind == kSum32) return sizeof(uint32_t);
  return kind == kSum64 || kind == kMax64 ? sizeof(uint64_t) : 1;
}

Link::Link(Socket socket) : socket_(std::move(socket)), buffer_(kBufferBytes) {}

void Link::Start(const Frame& about, std::span<const std::byte> bytes) {
  head_ = about;
  head_.kind = FrameKind::kData;
  head_.total = bytes.size();
  out_ = bytes;
  sending_ = true;
  NextFrame();
}

void Link::NextFrame() {
  head_left_ = sizeof(Frame);
  frame_left_ = std::min(out_.size(), kLongestFrame);
  head_.length = frame_left_;
}

bool Link::Write() {
  bool any = false;
  if (socket_.holds()) {
    const std::ptrdiff_t flushed = socket_.Flush();
    if (flushed == Socket::kEnded) Drain();
    any = flushed > 0;
    if (ended_ || socket_.holds()) return any || ended_;
  }
  for (int frame = 0; frame < kMostFrames && sending() && !ended_; ++frame) {
    const bool within = head_left_ % sizeof(Frame) != 0 || (head_left_ == 0 && frame_left_ > 0);
    std::array<iovec, 3> pieces;
    std::size_t count = 0, wanted = 0;
    const auto add = [&](const void* data, std::size_t size) {
      if (size == 0) return;
      pieces[count++] = {const_cast<void*>(data), size};
      wanted += size;
    };
    const std::size_t control = within ? 0 : control_.size();
    add(control_.data(), control);
    if (sending_) {
      add(reinterpret_cast<const std::byte*>(&head_) + sizeof(Frame) - head_left_, head_left_);
      add(out_.data(), frame_left_);
    }
    const std::ptrdiff_t moved = socket_.Send({pieces.data(), count});
    if (moved == Socket::kEnded) Drain();
    if (moved <= 0) return any || ended_;
    any = true;
    std::size_t left = static_cast<std::size_t>(moved);
    const auto take = [&](std::size_t most) {
      const std::size_t taken = std::min(left, most);
      left -= taken;
      return taken;
    };
    control_.erase(0, take(control));
    head_left_ -= take(head_left_);
    const std::size_t data = take(frame_left_);
    frame_left_ -= data;
    out_ = out_.subspan(data);
    payload_moved_ += data;
    if (sending_ && head_left_ == 0 && frame_left_ == 0) {
      sending_ = !out_.empty();
      if (sending_) NextFrame();
    }
    if (static_cast<std::size_t>(moved) < wanted) return true;
  }
  return any;
}

void Link::WritePulse(uint32_t sequence) {
  if (ended_ || sending()) return;
  Frame pulse;
  pulse.kind = FrameKind::kPulse;
  pulse.sequence = sequence;
  control_.append(reinterpret_cast<const char*>(&pulse), sizeof pulse);
  Write();
}

void Link::Finish(const Frame& last, std::string_view text) {
  std::string words;
  if (sending_ && head_left_ < sizeof(Frame)) {
    words.assign(reinterpret_cast<const char*>(&head_) + sizeof(Frame) - head_left_, head_left_);
    words.append(frame_left_, '\0');
  }
  sending_ = false;
  head_left_ = frame_left_ = 0;
  out_ = {};
  Frame frame = last;
  text = text.substr(0, kLongestReason);
  frame.length = text.size();
  control_ += words;
  control_.append(reinterpret_cast<const char*>(&frame), sizeof frame);
  control_ += text;
}

void Link::Expect(const Frame& about, const Sink& sink) {
  expected_ = about;
  sink_ = sink;
  received_ = 0;
  receiving_ = first_frame_ = true;
}

bool Link::Read() {
  bool any = Consume();
  if (any && !receiving_) return true;
  while (!ended_) {
    const Filled filled = Fill();
    if (filled == kNothing) break;
    any = true;
    Consume();
    if (filled == kSome || !receiving_) break;
  }
  return any;
}

bool Link::Consume() {
  bool any = false;
  while (!unexpected_.has_value()) {
    if (in_frame_left_ > 0) {
      std::size_t size = std::min(buffered(), in_frame_left_);
      size -= size % sink_.word();
      if (size == 0) return any;
      Deliver(buffer_.data() + begin_, size);
      begin_ += size;
      any = true;
    } else if (buffered() < sizeof(Frame) || !TakeFrame()) {
      return any;
    } else {
      any = true;
    }
  }
  return any;
}

bool Link::TakeFrame() {
  Frame frame;
  std::memcpy(&frame, buffer_.data() + begin_, sizeof frame);
  garbage_ = !IsFrame(frame);
  if (garbage_) return false;
  if (frame.kind == FrameKind::kFail || frame.kind == FrameKind::kGoodbye) {
    if (buffered() >= sizeof frame + frame.length) ScanEnd();
    return false;
  }
  if (frame.kind == FrameKind::kData) {
    if (!receiving_) return false;
    if (first_frame_ && sink_.kind == Sink::kText && SameMessage(frame, expected_)) {
      sink_.text->clear();
      sink_.text->reserve(std::min<std::size_t>(frame.total, kMostOnTrust));
      sink_.size = frame.total;
    }
    if (!SameMessage(frame, expected_) || frame.total != sink_.size ||
        frame.length > sink_.size - received_) {
      unexpected_ = frame;
      return false;
    }
    first_frame_ = false;
    if (sink_.kind == Sink::kText) {
      sink_.text->resize(received_ + frame.length);
      sink_.data = reinterpret_cast<std::byte*>(sink_.text->data());
    }
    in_frame_left_ = frame.length;
    receiving_ = received_ < sink_.size;
  }
  begin_ += sizeof frame;
  return true;
}

void Link::Deliver(const std::byte* data, std::size_t size) {
  std::byte* const to = sink_.data + received_;
  if (sink_.kind == Sink::kSum32)
    Combine<uint32_t>(to, data, size, std::plus<>());
  else if (sink_.kind == Sink::kSum64)
    Combine<uint64_t>(to, data, size, std::plus<>());
  else if (sink_.kind == Sink::kMax64)
    Combine<uint64_t>(to, data, size, [](uint64_t a, uint64_t b) { return std::max(a, b); });
  else if (data != to)
    std::memcpy(to, data, size);
  in_frame_left_ -= size;
  received_ += size;
  payload_moved_ += size;
  receiving_ = received_ < sink_.size;
}

Link::Filled Link::Fill() {
  if (begin_ == end_) begin_ = end_ = 0;
  std::array<iovec, 2> pieces;
  std::size_t count = 0, direct = 0;
  if (end_ == 0 && in_frame_left_ > 0 && (sink_.kind == Sink::kCopy || sink_.kind == Sink::kText)) {
    direct = in_frame_left_;
    pieces[count++] = {sink_.data + received_, direct};
  } else if (begin_ > 0 && end_ == buffer_.size()) {
    std::copy(buffer_.begin() + begin_, buffer_.begin() + end_, buffer_.begin());
    end_ -= std::exchange(begin_, 0);
  }
  // After bytes that go directly to their place, reads only the next header: the next frame can then do so
  // too.
  const bool more = direct > 0 && received_ + direct < sink_.size;
  const std::size_t room = more ? sizeof(Frame) : buffer_.size() - end_;
  if (room > 0) pieces[count++] = {buffer_.data() + end_, room};
  if (count == 0) return kNothing;
  const std::ptrdiff_t moved = socket_.Receive({pieces.data(), count});
  if (moved == Socket::kEnded) ScanEnd();
  if (moved <= 0) return ended_ ? kSome : kNothing;
  const std::size_t placed = std::min(direct, static_cast<std::size_t>(moved));
  if (placed > 0) Deliver(sink_.data + received_, placed);
  end_ += static_cast<std::size_t>(moved) - placed;
  return static_cast<std::size_t>(moved) < direct + room ? kSome : kAll;
}

void Link::Drain() {
  while (!ended_) {
    if (buffer_.size() - end_ < kBufferBytes) buffer_.resize(end_ + kBufferBytes);
    iovec piece{buffer_.data() + end_, buffer_.size() - end_};
    const std::ptrdiff_t moved = socket_.Receive({&piece, 1});
    if (moved > 0)
      end_ += static_cast<std::size_t>(moved);
    else
      ScanEnd();
  }
}

void Link::Discard() {
  iovec piece{buffer_.data(), buffer_.size()};
  std::ptrdiff_t moved = 0;
  while (!ended_ && (moved = socket_.Receive({&piece, 1})) != Socket::kWouldBlock)
    ended_ = moved == Socket::kEnded;
}

void Link::ScanEnd() {
  ended_ = true;
  Frame frame;
  for (std::size_t at = begin_ + in_frame_left_; at + sizeof frame <= end_;
       at += sizeof frame + frame.length) {
    std::memcpy(&frame, buffer_.data() + at, sizeof frame);
    garbage_ = garbage_ || !IsFrame(frame);
    if (garbage_) return;
    if (frame.kind == FrameKind::kGoodbye) left_after_ = frame.sequence;
    if (frame.kind != FrameKind::kFail) continue;
    const std::size_t size = std::min<std::size_t>(frame.length, end_ - at - sizeof frame);
    const char* const text = reinterpret_cast<const char*>(buffer_.data() + at + sizeof frame);
    peer_error_ = absl::Status(static_cast<absl::StatusCode>(frame.param), absl::string_view(text, size));
  }
}

int16_t Link::events() const {
  return static_cast<int16_t>(POLLRDHUP | (has_room() ? POLLIN : 0) | (sending() ? POLLOUT : 0));
}

}  // namespace winnow
