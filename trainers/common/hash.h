#pragma once

#include <cstdint>

namespace winnow {

// Counter-based randomness: a value is a function of its purpose, never of a generator's state.

// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
inline uint64_t MixBits(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

inline uint64_t HashOf(uint64_t a, uint64_t b) { return MixBits(MixBits(a) ^ b); }
inline uint64_t HashOf(uint64_t a, uint64_t b, uint64_t c) { return MixBits(HashOf(a, b) ^ c); }
inline uint64_t HashOf(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  return MixBits(HashOf(a, b, c) ^ d);
}

}  // namespace winnow
