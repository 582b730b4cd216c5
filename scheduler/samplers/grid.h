#pragma once

#include "scheduler/samplers/sampler.h"

namespace winnow {

// Every point of the job's grid (scheduler/space/grid.h) except those among the initial configurations, the
// last parameter's value changing first.
class GridSampler : public Sampler {
 public:
  std::optional<Suggestion> Draw(const JobState& state, TrialNumber number, int64_t redraw) const override;
};

}  // namespace winnow
