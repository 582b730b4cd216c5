#pragma once

#include <bit>
#include <cstdint>
#include <vector>

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

// Sorts ascending in linear time. `scratch` is resized as needed.
void RadixSort(std::vector<uint32_t>* keys, std::vector<uint32_t>* scratch);

// Sorts ascending by the upper 32 bits, keeping the order of equals.
void RadixSortUpper(std::vector<uint64_t>* keys, std::vector<uint64_t>* scratch);

}  // namespace winnow::gbdt
