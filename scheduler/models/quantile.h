#pragma once

#include <vector>

namespace winnow {

// The value below which a part `share`, 0 to 1, of the values lies; between two of them, on the line.
// REQUIRES at least one.
double Quantile(std::vector<double> values, double share);

}  // namespace winnow
