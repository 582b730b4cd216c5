#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace winnow {

// Sums of real numbers here are sums of integers: every value is multiplied by one power of two, chosen from
// the largest magnitude, and rounded. Integer sums do not depend on their order, so neither threads nor nodes
// change them.

// The exponent e with |x| * 2^e < 2^bits for every |x| <= max_abs; 0 if max_abs is 0. REQUIRES: max_abs
// finite.
inline int ScaleExponent(double max_abs, int bits) {
  if (!(max_abs > 0)) return 0;
  int e = 0;
  std::frexp(max_abs, &e);  // max_abs < 2^e
  return bits - e;
}

// Sum of `count` non-negative or mixed finite values, exact after rounding each to max|x| * 2^-52 / count or
// finer.
inline double OrderFreeSum(const double* values, std::size_t count) {
  double max_abs = 0;
  for (std::size_t i = 0; i < count; ++i) max_abs = std::fmax(max_abs, std::fabs(values[i]));
  if (!std::isfinite(max_abs)) return max_abs;
  int bits = 62;
  for (std::size_t n = count; n > 0; n >>= 1) --bits;
  const int e = ScaleExponent(max_abs, bits);
  int64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<int64_t>(std::ldexp(values[i], e));
  return std::ldexp(static_cast<double>(sum), -e);
}

}  // namespace winnow
