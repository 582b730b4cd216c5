#pragma once

#include <bit>
#include <cstdint>

namespace winnow::gbdt {

// Returns unsigned keys in the order of the floats; -0 and 0 have one key.
inline uint32_t OrderedKey(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value + 0.0f);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// Returns the float of a key.
inline float KeyedFloat(uint32_t key) {
  return std::bit_cast<float>(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

}  // namespace winnow::gbdt
