#pragma once

#include "scheduler/samplers/sampler.h"
#include "scheduler/space/space.h"

namespace winnow {

// Uniform on the unit cube, or a draw from the job's priors (DrawsFromPriors); depends on the job's seed and
// the trial's number only, so that any parallelism tries the same configurations.
class RandomSampler : public Sampler {
 public:
  std::optional<Suggestion> Draw(const JobState& state, TrialNumber number, int64_t redraw) const override;
};

// The same without a state: among the first of its draws, beginning with the `redraw`th, that keep the
// constraints. Where none does, any configuration of a finite space, else a point on the way from one that is
// known to keep them to the last draw.
Configuration RandomConfiguration(const SearchSpec& spec, const SearchSpace& space, TrialNumber number,
                                  int64_t redraw = 0);

// A configuration that keeps the constraints; on a finite space that is not exhausted, one that was not
// tried.
Configuration AnyConfiguration(const JobState& state, TrialNumber number);

// Draws after which none is taken to keep the constraints: kMostDraws, or fewer where the space has so many
// parameters and terms of constraints that these would take long.
constexpr int64_t kMostDraws = 10'000;
int64_t MostDraws(const SearchSpec& spec);
// Whether draws keep the constraints often enough to be found: one of the first MostDraws does, or the space
// is finite. REQUIRED of every job.
bool CanBeDrawn(const SearchSpec& spec, const SearchSpace& space);

}  // namespace winnow
