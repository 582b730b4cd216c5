#include "scheduler/samplers/grid.h"

#include "scheduler/space/grid.h"

namespace winnow {

std::optional<Suggestion> GridSampler::Draw(const JobState& state, TrialNumber number, int64_t) const {
  const Lattice& grid = *state.grid();
  int64_t index = number - 1 - static_cast<int64_t>(state.spec().initial.size());
  for (int64_t taken : InitialOnGrid(state.spec(), grid)) index += taken <= index ? 1 : 0;
  return Suggestion{grid.Nth(index), "Point " + std::to_string(index + 1) + " of the grid's " +
                                         std::to_string(grid.size()) + "."};
}

}  // namespace winnow
