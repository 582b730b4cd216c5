#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace winnow {

// What travels between two connected ranks: frames, each a header and `length` bytes. A message is one or
// more data frames in a row. Integers are little-endian.
static_assert(std::endian::native == std::endian::little);

enum class FrameKind : uint8_t {
  kData,
  kPulse,    // the sender waits in an operation and is alive
  kFail,     // the sender's last: `param` is the status code, the bytes are the message
  kGoodbye,  // the sender's last: it leaves after operation number `sequence`
};

struct Frame {
  FrameKind kind = FrameKind::kData;
  uint8_t operation = 0;
  uint16_t unused = 0;
  uint32_t sequence = 0;  // number of the operation within the group, from 1
  uint64_t param = 0;     // of the operation: words of a sum, root of a broadcast
  uint64_t total = 0;     // bytes of the message
  uint64_t length = 0;    // bytes of this frame
};
static_assert(sizeof(Frame) == 32);

// A frame that was begun is finished even when its sender gives up, so it is not long. Of 16 to 256 KiB,
// measured on loopback, the best or next to it at every size of a message.
constexpr std::size_t kLongestFrame = 128 << 10;

// Of an error's message; longer ones are cut.
constexpr std::size_t kLongestReason = 4096;

}  // namespace winnow
