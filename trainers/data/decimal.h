#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace winnow {

// A scanned text is followed by this many readable bytes that do not continue a number.
constexpr size_t kTextPadding = 16;

namespace decimal_internal {

constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr uint64_t kWholePowers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
constexpr int kMostDigits = 19;    // that 64 bits hold
constexpr int kMostExponent = 22;  // the powers of ten that a double holds exactly
constexpr int kDoubleBits = 53;

// Reads the digits at `at`, eight at a time, into *number (modulo 2^64); returns their end.
inline const char* TakeDigits(const char* at, uint64_t* number) {
  for (;;) {
    uint64_t bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    if constexpr (std::endian::native == std::endian::big) bytes = __builtin_bswap64(bytes);
    bytes ^= 0x3030303030303030u;  // digits are now 0 to 9
    const uint64_t others = ((bytes + 0x7676767676767676u) | bytes) & 0x8080808080808080u;
    const int count = others == 0 ? 8 : std::countr_zero(others) >> 3;
    if (count == 0) return at;
    bytes <<= (8 - count) * 8;  // zeros in front
    // Pairs, fours, eight: each step adds the left neighbour times a power of ten.
    bytes = bytes * 10 + (bytes >> 8);
    bytes = ((bytes & 0x000000ff000000ffu) * 0x000f424000000064u +
             ((bytes >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
            32;
    *number = *number * kWholePowers[count] + bytes;
    at += count;
    if (count < 8) return at;
  }
}

}  // namespace decimal_internal

// Reads the decimal number at `at`: digits with or without a point, optionally '-' before and an exponent
// after. Sets *value to the nearest float, ties to even, and returns the end of the number; null if there is
// none, or if it needs more than one rounding: then use std::from_chars. REQUIRES: kTextPadding bytes can be
// read after the text, the first of which is 0.
inline const char* ScanDecimal(const char* at, float* value) {
  using namespace decimal_internal;
  const bool negative = *at == '-';
  at += negative;
  uint64_t digits = 0;
  const char* const begin = at;
  at = TakeDigits(at, &digits);
  int64_t count = at - begin, exponent = 0;
  if (*at == '.') {
    const char* const behind_point = ++at;
    at = TakeDigits(at, &digits);
    exponent = behind_point - at;
    count -= exponent;
  }
  if (count == 0 || count > kMostDigits) return nullptr;
  if ((*at | 0x20) == 'e') {
    ++at;
    const bool down = *at == '-';
    at += *at == '-' || *at == '+';
    uint64_t written = 0;
    const char* const digits_begin = at;
    at = TakeDigits(at, &written);
    if (at == digits_begin || at - digits_begin > 4) return nullptr;
    exponent += down ? -static_cast<int64_t>(written) : static_cast<int64_t>(written);
  }
  while (digits >> kDoubleBits != 0) {
    if (digits % 10 != 0) return nullptr;
    digits /= 10;
    ++exponent;
  }
  if (digits == 0) exponent = 0;
  if (exponent < -kMostExponent || exponent > kMostExponent) return nullptr;
  // Both are exact, so this rounds once (Clinger, PLDI 1990)...
  const double wide = exponent < 0 ? static_cast<double>(digits) / kPowers[-exponent]
                                   : static_cast<double>(digits) * kPowers[exponent];
  // ... and rounding again errs only if the first one gave the midpoint between two floats.
  constexpr uint64_t kDropped = (uint64_t{1} << 29) - 1;  // bits that a float does not have
  const uint64_t bits = std::bit_cast<uint64_t>(wide);
  if ((bits & kDropped) == (kDropped + 1) / 2) return nullptr;
  // Without a branch: signs are unpredictable.
  *value = static_cast<float>(std::bit_cast<double>(bits | static_cast<uint64_t>(negative) << 63));
  return at;
}

}  // namespace winnow
