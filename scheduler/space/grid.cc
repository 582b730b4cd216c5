#include "scheduler/space/grid.h"

#include <algorithm>
#include <cmath>

#include "scheduler/space/space.h"

namespace winnow {
namespace {

__extension__ using Wide = unsigned __int128;

// Step k of `last` on a logarithmic scale from `low` to `high`, to the nearest integer.
uint64_t LogStep(double low, double high, int64_t k, int64_t last) {
  const double at = static_cast<double>(k) / static_cast<double>(last);
  return static_cast<uint64_t>(std::round(std::exp(std::lerp(std::log(low), std::log(high), at))));
}

// Point k of 0..last.
Value PointOf(const IntegerRange& range, int64_t k, int64_t last) {
  if (k == 0) return range.min;
  if (k == last) return range.max;
  const auto min = static_cast<uint64_t>(range.min), max = static_cast<uint64_t>(range.max);
  if (range.scaling == Scaling::kLog) {
    return std::clamp(
        static_cast<int64_t>(LogStep(static_cast<double>(min), static_cast<double>(max), k, last)), range.min,
        range.max);
  }
  if (range.scaling == Scaling::kReverseLog) {
    const uint64_t from_max = LogStep(1, static_cast<double>(max - min) + 1, last - k, last);
    return static_cast<int64_t>(max - std::min(max - min, from_max - 1));
  }
  const Wide steps = static_cast<Wide>(max - min) * static_cast<Wide>(k);
  const auto half = static_cast<Wide>(last / 2);
  return static_cast<int64_t>(min + static_cast<uint64_t>((steps + half) / static_cast<Wide>(last)));
}

Value PointOf(const ContinuousRange& range, int64_t k, int64_t last) {
  const double at = static_cast<double>(k) / static_cast<double>(last);
  return SearchSpace({{"", range}}).FromUnit({at})[0];
}

// At most `points` values, rising; one alone is the middle's. REQUIRES the range has more.
std::vector<Value> PointsOf(const Range& range, int64_t points) {
  if (points == 1) return SearchSpace({{"", range}}).FromUnit({0.5});
  std::vector<Value> values;
  for (int64_t k = 0; k < points; ++k) {
    const auto* integer = std::get_if<IntegerRange>(&range);
    values.push_back(integer != nullptr ? PointOf(*integer, k, points - 1)
                                        : PointOf(std::get<ContinuousRange>(range), k, points - 1));
  }
  // Neighbours on a logarithmic scale may be the same integer.
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

bool HasGridPoints(const Range& range) {
  if (std::holds_alternative<ContinuousRange>(range)) return true;
  const int64_t count = ValueCount(range);
  return std::holds_alternative<IntegerRange>(range) && (count == 0 || count > kDefaultGridPoints);
}

std::shared_ptr<const Lattice> GridOf(const SearchSpec& spec) {
  std::vector<Axis> axes;
  size_t choices = 0;
  for (const Parameter& parameter : spec.parameters) {
    Axis axis{parameter.range, {}};
    if (HasGridPoints(parameter.range)) {
      const int64_t given = choices < spec.sampler.grid_points.size() ? spec.sampler.grid_points[choices] : 0;
      const int64_t points = given > 0 ? std::min(given, Lattice::kMost + 1) : kDefaultGridPoints;
      const int64_t count = ValueCount(parameter.range);
      if (count == 0 || points < count) axis.chosen = PointsOf(parameter.range, points);
      ++choices;
    }
    axes.push_back(std::move(axis));
  }
  return Lattice::Make(spec.parameters, spec.constraints, std::move(axes));
}

std::vector<int64_t> InitialOnGrid(const SearchSpec& spec, const Lattice& grid) {
  std::vector<int64_t> indices;
  for (const Configuration& configuration : spec.initial) {
    if (const int64_t index = grid.IndexOf(configuration); index >= 0) indices.push_back(index);
  }
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return indices;
}

int64_t GridTrials(const SearchSpec& spec, const Lattice& grid) {
  return grid.size() + static_cast<int64_t>(spec.initial.size() - InitialOnGrid(spec, grid).size());
}

}  // namespace winnow
