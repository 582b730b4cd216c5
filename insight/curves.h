#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace winnow {

struct CurvePoint {
  int64_t resource = 0;
  double value = 0;  // NaN: it was none
};
// By rising level, each once.
using Curve = std::vector<CurvePoint>;

// Quantiles over trials, by ranges of levels; a trial counts with the last value that it has within the
// range.
struct EnvelopeData {
  std::vector<int64_t> resource;  // where each range ends; it begins after the one before
  std::vector<int32_t> count;     // of trials
  std::vector<double> min, lower, median, upper, max;
};

// Over the curves of the marked rows (those beyond `marked` are not). Every level that any of them has is a
// range of its own, or neighbours are put together so that there are at most `most` ranges. Quartiles lie
// linearly between the values beside them (type 7 of Hyndman and Fan, The American Statistician 50, 1996).
// Ranges without a value are left out.
EnvelopeData MakeEnvelope(const std::vector<Curve>& curves, const std::vector<uint8_t>& marked, size_t most);

// At most `most` (at least 4) points of the curve: the first, the last, and of even parts of the rest the
// lowest and the highest value.
Curve ThinCurve(const Curve& curve, size_t most);

// The value between the sorted values beside place `part` * (size - 1), linearly; reorders `values`. REQUIRES
// some.
double QuantileOf(std::vector<double>& values, double part);

}  // namespace winnow
