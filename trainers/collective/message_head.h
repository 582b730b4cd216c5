#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

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

}  // namespace winnow
