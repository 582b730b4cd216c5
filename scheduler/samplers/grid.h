#pragma once

#include "scheduler/samplers/sampler.h"
#include "scheduler/space.h"

namespace winnow {

// Every combination of the grid's values, the last parameter's changing first. A parameter takes every value it has if those
// are at most kDefaultGridPoints; else spec.sampler.grid_points of them, or kDefaultGridPoints, at equal distances on its scale, both
// ends included.
// Combinations that conditions or constraints leave out are not tried.
class GridSampler : public Sampler {
 public:
  std::optional<Suggestion> Draw(const JobState& state, TrialNumber number, int64_t redraw) const override;
};

constexpr int64_t kDefaultGridPoints = 5;

// How many trials the grid holds.
int64_t GridSize(const SearchSpec& spec, const SearchSpace& space);

}  // namespace winnow
