#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace winnow {

// Functions that affect models, in plain arithmetic: the same bits on every machine, which the C library does
// not guarantee, and without branches, so that the compiler vectorises them.

// e^x to about 2 ulp for x in [-87, 88]; clamps x to that interval.
inline float PortableExp(float x) {
  x = std::min(std::max(x, -87.0f), 88.0f);
  const float scaled = x * 1.44269504f;
  const int n = static_cast<int>(scaled + (scaled >= 0 ? 0.5f : -0.5f));
  const float r = (x - static_cast<float>(n) * 0.693359375f) - static_cast<float>(n) * -2.12194440e-4f;
  // Polynomial of Cephes' expf on [-ln(2)/2, ln(2)/2].
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * (r * r) + r + 1.0f;
  return y * std::bit_cast<float>((n + 127) << 23);
}

inline float Sigmoid(float x) { return 1.0f / (1.0f + PortableExp(-x)); }

// ln(1 + t) where m = 1 + t is in [sqrt(1/2), sqrt(2)]: 2 artanh((m - 1) / (m + 1)) by its series, truncated
// where the next term is below 2^-56 of the first.
inline double PortableLogNearOne(double m) {
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double sum = 1.0 / 21;
  sum = sum * z + 1.0 / 19;
  sum = sum * z + 1.0 / 17;
  sum = sum * z + 1.0 / 15;
  sum = sum * z + 1.0 / 13;
  sum = sum * z + 1.0 / 11;
  sum = sum * z + 1.0 / 9;
  sum = sum * z + 1.0 / 7;
  sum = sum * z + 1.0 / 5;
  sum = sum * z + 1.0 / 3;
  return 2.0 * s * (1.0 + sum * z);
}

constexpr double kLn2 = 0.693147180559945309417;

// ln x. REQUIRES: x is positive, finite and not denormal. All integers have 32 bits, for which even the
// oldest instruction sets have the necessary instructions.
inline double PortableLog(double x) {
  constexpr int32_t kSqrtHalf = 0x3fe6a09e;  // upper bits of sqrt(1/2), or just below
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const int32_t upper = static_cast<int32_t>(bits >> 32);
  const int32_t exponent = (upper - kSqrtHalf) >> 20;
  const uint64_t mantissa = bits - (static_cast<uint64_t>(static_cast<uint32_t>(exponent)) << 52);
  return static_cast<double>(exponent) * kLn2 + PortableLogNearOne(std::bit_cast<double>(mantissa));
}

// ln x of a float, in a form that vectorises without 64-bit integer conversions.
inline double PortableLog(float x) {
  constexpr uint32_t kSqrtHalf = 0x3f3504f3;
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const int32_t exponent = static_cast<int32_t>(bits - kSqrtHalf) >> 23;
  const float m = std::bit_cast<float>(bits - (static_cast<uint32_t>(exponent) << 23));
  return static_cast<double>(exponent) * kLn2 + PortableLogNearOne(static_cast<double>(m));
}

}  // namespace winnow
