#include "scheduler/samplers/grid.h"

namespace winnow {

std::optional<Suggestion> GridSampler::Draw(const JobState& state, TrialNumber number, int64_t) const {
  return Suggestion{state.space().Nth(number - 1), ""};
}

int64_t GridSize(const SearchSpec&, const SearchSpace& space) { return space.size(); }

}  // namespace winnow
