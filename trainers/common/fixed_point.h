#pragma once

#include <cmath>

namespace winnow {

// Sums of real numbers are computed as sums of integers: every value is multiplied by one power of two,
// chosen from the largest magnitude, and rounded. Integer sums do not depend on their order, so neither
// threads nor nodes change them.

// Returns the exponent e with |x| * 2^e < 2^bits for every |x| <= max_abs; 0 if max_abs is 0. REQUIRES:
// max_abs is finite.
inline int ScaleExponent(double max_abs, int bits) {
  if (!(max_abs > 0)) return 0;
  int e = 0;
  std::frexp(max_abs, &e);  // max_abs < 2^e
  return bits - e;
}

}  // namespace winnow
