#pragma once

#include <string>

namespace winnow {

// Numbers for a sentence, where DoubleToString (scheduler/space/space.h) would say more than is known.

// With three digits: "0.416", "15200", "1.25e-07"; one that is not finite as it is.
std::string ThreeDigits(double value);

// With at most six digits: "0.983333", "1.25e-07".
std::string SixDigits(double value);
// The same, but with as many more as tell it from `other`, unless they are equal.
std::string SixDigits(double value, double other);

// A part of 1 as "12.5 %", with so many decimals at most; "less than 0.05 %" where that would be 0,
// and "more than 99.95 %" where it would be 100 and is less.
std::string Percent(double part, int decimals);

}  // namespace winnow
