#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace winnow {

struct CurvePoint {
  int64_t resource = 0;
  double value = 0;  // NaN: not a number
};
// By rising level, each level once.
using Curve = std::vector<CurvePoint>;

// Quantiles over trials, by ranges of levels; a trial counts with its last value within the range.
struct EnvelopeData {
  std::vector<int64_t> resource;  // end of each range, which begins after the previous one
  std::vector<int32_t> count;     // number of trials
  std::vector<double> min, lower, median, upper, max;
};

// Covers the curves of the marked rows (rows beyond the end of `marked` are not marked). Every level of any
// curve is a range, or neighbours are joined into at most `most` ranges. Quartiles are interpolated linearly
// (type 7 of Hyndman and Fan, The American Statistician 50, 1996). Ranges without a value are left out.
EnvelopeData MakeEnvelope(const std::vector<Curve>& curves, const std::vector<uint8_t>& marked, size_t most);

// Returns at most `most` (at least 4) points of the curve: the first, the last, and the lowest and the
// highest value of equal parts of the rest.
Curve ThinCurve(const Curve& curve, size_t most);

// Returns the value at position `part` * (size - 1) of the sorted values, interpolated linearly; reorders
// `values`. REQUIRES: `values` is not empty.
double QuantileOf(std::vector<double>& values, double part);

}  // namespace winnow
