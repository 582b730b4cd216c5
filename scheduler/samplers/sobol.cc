#include "scheduler/samplers/sobol.h"

#include <boost/random/sobol.hpp>

#include "scheduler/samplers/priors.h"
#include "scheduler/samplers/random.h"
#include "scheduler/space/random.h"
#include "scheduler/space/space.h"

namespace winnow {
namespace {

constexpr size_t kMostDimensions = 3667;

uint32_t ReverseBits(uint32_t x) {
  x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
  x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
  x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
  return __builtin_bswap32(x);
}

// A random permutation of the binary tree of intervals: which half is which, at every node by itself.
uint32_t NestedUniformScramble(uint32_t x, uint32_t seed) {
  x = ReverseBits(x);
  x += seed;
  x ^= x * 0x6c50b47cu;
  x ^= x * 0xb82f1e52u;
  x ^= x * 0xc7afe638u;
  x ^= x * 0x8d22f6e6u;
  return ReverseBits(x);
}

// Absent: there is none, or it breaks a constraint.
std::optional<Configuration> SobolPoint(const SearchSpec& spec, const SearchSpace& space,
                                        TrialNumber number) {
  const size_t dimensions = spec.parameters.size();
  if (dimensions == 0 || dimensions > kMostDimensions) return std::nullopt;
  boost::random::sobol_engine<uint32_t, 32> engine(dimensions);
  // The engine leaves out the sequence's first point, the origin, without which the next 2^k are not
  // balanced.
  const bool origin = number == 1;
  if (!origin) engine.discard(static_cast<uint64_t>(number - 2) * dimensions);
  std::vector<double> unit;
  for (size_t i = 0; i < dimensions; ++i) {
    // One scrambling per parameter for the whole job: trial 0 stands for no trial.
    const auto seed = static_cast<uint32_t>(RandomBits(spec.seed, 0, Purpose::kConfiguration, i));
    unit.push_back((NestedUniformScramble(origin ? 0 : engine(), seed) + 0.5) * 0x1p-32);
  }
  Configuration configuration =
      DrawsFromPriors(spec, number) ? Priors(space).Drawn(std::move(unit)) : space.FromUnit(unit);
  if (!space.Satisfies(configuration)) return std::nullopt;
  return configuration;
}

}  // namespace

Configuration SobolConfiguration(const SearchSpec& spec, const SearchSpace& space, TrialNumber number) {
  auto point = SobolPoint(spec, space, number);
  return point ? *std::move(point) : RandomConfiguration(spec, space, number);
}

std::optional<Suggestion> SobolSampler::Draw(const JobState& state, TrialNumber number,
                                             int64_t redraw) const {
  if (redraw > 0) {
    return Suggestion{RandomConfiguration(state.spec(), state.space(), number, redraw),
                      "Drawn at random: its Sobol point was tried already."};
  }
  if (auto point = SobolPoint(state.spec(), state.space(), number)) {
    return Suggestion{
        *std::move(point),
        "Point " + std::to_string(number) + " of a scrambled Sobol sequence" +
            (DrawsFromPriors(state.spec(), number) ? ", moved towards the job's priors." : ".")};
  }
  const char* why = state.spec().parameters.size() > kMostDimensions
                        ? "Drawn at random: there are too many parameters for a Sobol sequence."
                        : "Drawn at random: its Sobol point breaks a constraint.";
  return Suggestion{RandomConfiguration(state.spec(), state.space(), number), why};
}

}  // namespace winnow
