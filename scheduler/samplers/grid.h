#pragma once

#include <memory>

#include "scheduler/samplers/sampler.h"
#include "scheduler/space.h"
#include "scheduler/space_lattice.h"

namespace winnow {

// Every combination of the grid's values, the last parameter's changing first, without those that conditions
// or constraints leave out and those that were among the initial configurations. A parameter takes every
// value it has; but of a continuous range, and of an integer one with more than kDefaultGridPoints values, it
// takes as many as spec.sampler.grid_points says (kDefaultGridPoints where that says nothing), at equal
// distances on its scale, both ends included.
class GridSampler : public Sampler {
 public:
  std::optional<Suggestion> Draw(const JobState& state, TrialNumber number, int64_t redraw) const override;
};

constexpr int64_t kDefaultGridPoints = 5;

// Whether it is a range of which the grid takes some points only: continuous, or of many integers.
bool HasGridPoints(const Range& range);

// Null: of more than Lattice::kMost configurations.
std::shared_ptr<const Lattice> GridOf(const SearchSpec& spec);

// How many trials a job makes of its initial configurations and the grid.
int64_t GridTrials(const SearchSpec& spec, const Lattice& grid);

}  // namespace winnow
