#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace winnow {

// What travels between two ranks that exchange messages: heads, the bytes of a message or of a reason behind
// theirs. Integers are little-endian.
static_assert(std::endian::native == std::endian::little);

enum class MessageKind : uint8_t {
  kMessage,
  kTaken,    // `size` bytes, heads included, have been taken by who they were for
  kPulse,    // the sender is alive
  kFail,     // the sender's last: `tag` is the status code, the bytes are the error
  kGoodbye,  // no message comes after it
};

struct MessageHead {
  uint16_t mark = kMark;
  MessageKind kind = MessageKind::kMessage;
  uint8_t unused = 0;
  uint32_t tag = 0;
  uint64_t size = 0;  // bytes that follow, where any do

  static constexpr uint16_t kMark = 0xa74d;  // by which what is no head is noticed
};
static_assert(sizeof(MessageHead) == 16);

}  // namespace winnow
