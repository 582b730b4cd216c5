#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace winnow {

// The protocol between two connected ranks: frames, each a header and `length` bytes. A message is one or
// more consecutive data frames. Integers are little-endian.
static_assert(std::endian::native == std::endian::little);

enum class FrameKind : uint8_t {
  kData,
  kPulse,    // the sender is alive and waits in an operation
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

// Short, because a started frame is finished even when its sender gives up. Among 16 to 256 KiB, the best or
// second best on loopback at every message size.
constexpr std::size_t kLongestFrame = 128 << 10;

// Limit of an error's message; longer ones are cut.
constexpr std::size_t kLongestReason = 4096;

}  // namespace winnow
