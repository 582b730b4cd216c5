#pragma once

#include <string>

namespace winnow {

// Numbers for a sentence, where DoubleToString (scheduler/space.h) would say more than is known.

// With three digits: "0.416", "15200", "1.25e-07"; one that is not finite as it is.
std::string ThreeDigits(double value);

// A part of 1 as "12.5 %", with so many decimals at most; "less than 0.05 %" where that would be 0.
std::string Percent(double part, int decimals);

}  // namespace winnow
