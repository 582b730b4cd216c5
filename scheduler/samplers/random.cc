#include "scheduler/samplers/random.h"

#include "scheduler/random.h"

namespace winnow {
namespace {

Configuration DrawOnce(const SearchSpec& spec, const SearchSpace& space, TrialNumber number, int64_t draw) {
  const size_t dimensions = spec.parameters.size();
  std::vector<double> unit;
  for (size_t i = 0; i < dimensions; ++i) {
    const uint64_t index = static_cast<uint64_t>(draw) * dimensions + i;
    unit.push_back(RandomUnit(spec.seed, number, Purpose::kConfiguration, index));
  }
  return space.FromUnit(unit);
}

// Draws of different redraws never meet.
constexpr int64_t kDrawsPerRedraw = kMostDraws;

}  // namespace

Configuration RandomConfiguration(const SearchSpec& spec, const SearchSpace& space, TrialNumber number,
                                  int64_t redraw) {
  Configuration configuration;
  for (int64_t draw = 0; draw < kMostDraws; ++draw) {
    configuration = DrawOnce(spec, space, number, redraw * kDrawsPerRedraw + draw);
    if (space.Satisfies(configuration)) return configuration;
  }
  return space.size() > 0 ? space.Nth(0) : configuration;
}

bool CanBeDrawn(const SearchSpec& spec, const SearchSpace& space) {
  return space.size() > 0 || space.Satisfies(RandomConfiguration(spec, space, 1));
}

std::optional<Suggestion> RandomSampler::Draw(const JobState& state, TrialNumber number, int64_t redraw) const {
  return Suggestion{RandomConfiguration(state.spec(), state.space(), number, redraw), "Drawn at random."};
}

}  // namespace winnow
