#include "scheduler/samplers/random.h"

#include <algorithm>

#include "scheduler/samplers/priors.h"
#include "scheduler/space/random.h"

namespace winnow {
namespace {

// Draws in a finite space with known configurations before one of those is chosen.
constexpr int64_t kMostDrawsOfFinite = 50;
// Parameters and terms that all draws for a configuration look at, and the least number of draws.
constexpr int64_t kMostLooks = 2'000'000;
constexpr int64_t kLeastDraws = 200;
// The index of that choice among a trial's draws, beyond all others.
constexpr uint64_t kChoice = 1ull << 41;

// Draws from priors, until one keeps the constraints.
constexpr int64_t kMostPriorDraws = 100;

// Draws of different redraws never meet.
constexpr int64_t kDrawsPerRedraw = kMostDraws;

// After so many halvings of the way to a known configuration, it is that one.
constexpr int kMostHalvings = 40;

std::vector<double> UnitDraw(const SearchSpec& spec, TrialNumber number, int64_t draw) {
  const size_t dimensions = spec.parameters.size();
  std::vector<double> unit;
  unit.reserve(dimensions);
  for (size_t i = 0; i < dimensions; ++i) {
    const uint64_t index = static_cast<uint64_t>(draw) * dimensions + i;
    unit.push_back(RandomUnit(spec.seed, number, Purpose::kConfiguration, index));
  }
  return unit;
}

std::optional<Configuration> FirstThatHolds(const SearchSpec& spec, const SearchSpace& space,
                                            TrialNumber number, int64_t first, int64_t draws) {
  for (int64_t draw = 0; draw < draws; ++draw) {
    Configuration configuration = space.FromUnit(UnitDraw(spec, number, first + draw));
    if (space.Satisfies(configuration)) return configuration;
  }
  return std::nullopt;
}

// Absent: the draw is not one from priors, or these hardly ever keep the constraints.
std::optional<Configuration> PriorDraw(const SearchSpec& spec, const SearchSpace& space, TrialNumber number,
                                       int64_t redraw) {
  if (!DrawsFromPriors(spec, number)) return std::nullopt;
  const Priors priors(space);
  for (int64_t draw = 0; draw < kMostPriorDraws; ++draw) {
    Configuration configuration = priors.Drawn(UnitDraw(spec, number, redraw * kDrawsPerRedraw + draw));
    if (space.Satisfies(configuration)) return configuration;
  }
  return std::nullopt;
}

// On the way from `known` to `unit`, as far as halving it leads into the constraints.
Configuration Between(const SearchSpace& space, const Configuration& known, std::vector<double> unit) {
  const std::vector<double> start = space.ToUnit(known);
  for (int halving = 0; halving < kMostHalvings; ++halving) {
    for (size_t i = 0; i < unit.size(); ++i) unit[i] = (start[i] + unit[i]) / 2;
    Configuration configuration = space.FromUnit(unit);
    if (space.Satisfies(configuration)) return configuration;
  }
  return known;
}

}  // namespace

int64_t MostDraws(const SearchSpec& spec) {
  size_t looks = std::max<size_t>(1, spec.parameters.size());
  for (const LinearConstraint& constraint : spec.constraints) looks += constraint.terms.size();
  return std::clamp(kMostLooks / static_cast<int64_t>(looks), kLeastDraws, kMostDraws);
}

Configuration RandomConfiguration(const SearchSpec& spec, const SearchSpace& space, TrialNumber number,
                                  int64_t redraw) {
  const bool finite = space.size() > 0;
  const int64_t first = redraw * kDrawsPerRedraw;
  const int64_t most = MostDraws(spec);
  auto drawn = FirstThatHolds(spec, space, number, first, finite ? kMostDrawsOfFinite : most);
  if (drawn) return *std::move(drawn);
  if (finite) {
    const uint64_t bits =
        RandomBits(spec.seed, number, Purpose::kConfiguration, kChoice + static_cast<uint64_t>(redraw));
    return space.Nth(static_cast<int64_t>(bits % static_cast<uint64_t>(space.size())));
  }
  std::vector<double> last = UnitDraw(spec, number, first + most - 1);
  const auto known = FirstThatHolds(spec, space, 1, 0, most);
  return known ? Between(space, *known, std::move(last)) : space.FromUnit(last);
}

bool CanBeDrawn(const SearchSpec& spec, const SearchSpace& space) {
  return space.size() > 0 || FirstThatHolds(spec, space, 1, 0, MostDraws(spec)).has_value();
}

Configuration AnyConfiguration(const JobState& state, TrialNumber number) {
  const int64_t size = state.space().size();
  if (size == 0) return RandomConfiguration(state.spec(), state.space(), number);
  const auto first =
      static_cast<int64_t>(RandomBits(state.spec().seed, number, Purpose::kConfiguration, 1ull << 40) %
                           static_cast<uint64_t>(size));
  for (int64_t i = 0;; ++i) {
    Configuration configuration = state.space().Nth((first + i) % size);
    if (!state.tried(configuration)) return configuration;
  }
}

std::optional<Suggestion> RandomSampler::Draw(const JobState& state, TrialNumber number,
                                              int64_t redraw) const {
  if (auto drawn = PriorDraw(state.spec(), state.space(), number, redraw)) {
    return Suggestion{*std::move(drawn), "Drawn from the job's priors."};
  }
  return Suggestion{RandomConfiguration(state.spec(), state.space(), number, redraw), "Drawn at random."};
}

}  // namespace winnow
