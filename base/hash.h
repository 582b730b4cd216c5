#pragma once

#include <cstdint>

namespace winnow {

// Counter-based randomness: a value is a function of its purpose, never of a generator's state. Models,
// recorded jobs and splits of data depend on every bit, so these functions never change.

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): what its generator returns in state `x`.
constexpr uint64_t MixBits(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr uint64_t HashOf(uint64_t a, uint64_t b) { return MixBits(MixBits(a) ^ b); }
constexpr uint64_t HashOf(uint64_t a, uint64_t b, uint64_t c) { return MixBits(HashOf(a, b) ^ c); }
constexpr uint64_t HashOf(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  return MixBits(HashOf(a, b, c) ^ d);
}

// The upper 53 bits as a number in [0, 1), a multiple of 2^-53.
constexpr double UnitOf(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace winnow
