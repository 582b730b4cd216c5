#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace winnow {

// A learning curve, more is better, as far as it is known: (level, value) by rising level, at least one, all
// finite; and how many rungs it has reached, at least one.
struct SeenCurve {
  std::vector<std::pair<int64_t, double>> points;
  size_t rungs = 0;
};

// What a curve tells at rungs 0, 1… that it has reached.
struct RungValues {
  std::vector<double> at;      // the value there
  std::vector<double> before;  // a little below: at two thirds of the level, and not below the rung before it
};

// The curves' values at the rungs, of which `levels` are the resource levels, rising. Where reports are noisy
// the newest third of the curve up to the rung speaks for it, by a straight line over the logarithm of the
// level, as much as it is better than the last report alone: how rough the curves are says how large their
// noise is.
std::vector<RungValues> ReadRungs(const std::vector<int64_t>& levels, const std::vector<SeenCurve>& curves);

// The last values alone of one curve, at the rungs that it has reached.
RungValues ReadRungs(const std::vector<int64_t>& levels, const SeenCurve& curve);

}  // namespace winnow
