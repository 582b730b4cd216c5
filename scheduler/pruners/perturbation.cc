#include "scheduler/pruners/perturbation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "scheduler/space/random.h"
#include "scheduler/space/range_change.h"
#include "scheduler/space/rounded.h"

namespace winnow {
namespace {

constexpr double kAnew = 0.25;          // probability that a value is drawn anew
constexpr double kLess = 0.8;           // factor of a LOG range, or its inverse
constexpr double kStep = 0.1;           // of other ranges
constexpr int kMostTries = 100;         // for one that keeps the constraints and differs
constexpr int kMostDrawsAnew = 10'000;  // after those, where the origin itself may not be tried any more
constexpr uint64_t kDrawsPerValue = 3;  // whether anew, which way, where

// Draws of one value of one try.
class ValueDraws {
 public:
  ValueDraws(uint64_t seed, TrialNumber number, uint64_t value)
      : seed_(seed), number_(number), first_(1 + kDrawsPerValue * value) {}

  bool anew() const { return Unit(0) < kAnew; }
  bool down() const { return Unit(1) < 0.5; }
  double place() const { return Unit(2); }

 private:
  double Unit(uint64_t draw) const { return RandomUnit(seed_, number_, Purpose::kPopulation, first_ + draw); }
  uint64_t seed_;
  TrialNumber number_;
  uint64_t first_;
};

// The middle of a cell beside that of `place`, of so many cells of the unit interval.
double Neighbour(double place, size_t values, bool down) {
  const double cell = 1 / static_cast<double>(values);
  const double moved = place + (down ? -cell : cell);
  // From an end there is one way.
  return moved < 0 || moved > 1 ? place - (down ? -cell : cell) : moved;
}

// The place of value `i` with `value` in its stead.
double PlaceOf(const SearchSpace& space, Configuration configuration, size_t i, Value value) {
  configuration[i] = std::move(value);
  return space.ToUnit(configuration)[i];
}

// The place of value `i` after a factor or a step. REQUIRES it exists.
double Moved(const SearchSpace& space, const Configuration& from, const std::vector<double>& places, size_t i,
             bool down) {
  const Range& range = space.parameters()[i].range;
  if (const auto* discrete = std::get_if<DiscreteRange>(&range))
    return Neighbour(places[i], discrete->values.size(), down);
  if (const auto* categorical = std::get_if<CategoricalRange>(&range))
    return categorical->ordered ? Neighbour(places[i], categorical->values.size(), down) : places[i];
  const double stepped = std::clamp(places[i] + (down ? -kStep : kStep), 0.0, 1.0);
  const double factor = down ? kLess : 1 / kLess;
  if (const auto* continuous = std::get_if<ContinuousRange>(&range)) {
    if (continuous->scaling != Scaling::kLog) return stepped;
    const double next = std::get<double>(from[i]) * factor;
    return PlaceOf(space, from, i, std::clamp(next, continuous->min, continuous->max));
  }
  const auto& integer = std::get<IntegerRange>(range);
  const auto now = std::get<int64_t>(from[i]);
  int64_t next = now;
  if (integer.scaling == Scaling::kLog) {
    next = std::llround(static_cast<double>(now) * factor);
  } else {
    std::vector<double> other = places;
    other[i] = stepped;
    next = std::get<int64_t>(space.FromUnit(other)[i]);
  }
  if (next == now) next += down ? -1 : 1;
  if (next < integer.min || next > integer.max) next = now + (down ? 1 : -1);
  return PlaceOf(space, from, i, std::clamp(next, integer.min, integer.max));
}

std::string Shown(const Value& value) {
  const auto* real = std::get_if<double>(&value);
  if (real != nullptr) return ThreeDigits(*real);
  return std::holds_alternative<Inactive>(value) ? "none" : ValueToString(value);
}

}  // namespace

Configuration Perturbed(const SearchSpec& spec, const SearchSpace& space, const Configuration& origin,
                        TrialNumber number) {
  Configuration from = origin;
  std::vector<bool> dropped(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    const Range& range = space.parameters()[i].range;
    if (std::holds_alternative<Inactive>(from[i]) || Contains(range, from[i])) continue;
    dropped[i] = std::holds_alternative<CategoricalRange>(range);
    from[i] = dropped[i] ? NthValue(range, 0) : NearestIn(range, from[i]);
  }
  const std::vector<double> places = space.ToUnit(from);
  const bool holds = space.Holds(origin);
  for (int attempt = 0; attempt < kMostTries + (holds ? 0 : kMostDrawsAnew); ++attempt) {
    std::vector<double> moved = places;
    for (size_t i = 0; i < places.size(); ++i) {
      const ValueDraws draws(spec.seed, number, static_cast<uint64_t>(attempt) * places.size() + i);
      // A value that does not exist here may after another has changed.
      const bool absent = std::holds_alternative<Inactive>(from[i]);
      const bool anew = attempt >= kMostTries || draws.anew() || absent || dropped[i];
      moved[i] = anew ? draws.place() : Moved(space, from, places, i, draws.down());
    }
    Configuration configuration = space.FromUnit(moved);
    if (space.Satisfies(configuration) && configuration != origin) return configuration;
  }
  return origin;
}

std::string ChangeText(const SearchSpec& spec, const Configuration& from, const Configuration& to) {
  std::string text;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[i]) continue;
    text +=
        (text.empty() ? "" : ", ") + spec.parameters[i].name + " " + Shown(from[i]) + " -> " + Shown(to[i]);
  }
  return text.empty() ? "unchanged hyperparameters" : text;
}

}  // namespace winnow
