#pragma once

#include "scheduler/samplers/sampler.h"
#include "scheduler/space/space.h"

namespace winnow {

// Point n of a scrambled Sobol sequence for trial n: any run of trials fills the space far more evenly than
// random points do. A space of more parameters than the direction numbers cover (3,667) is sampled at random.
// Sources: Sobol, USSR Comp. Math. 7 (1967); direction numbers of Joe and Kuo (2008), as Boost.Random has
// them; nested uniform scrambling (Owen 1995) by hashing (Burley, JCGT 9:4 (2020), section 3), so that seeds
// give independent sequences.
class SobolSampler : public Sampler {
 public:
  std::optional<Suggestion> Draw(const JobState& state, TrialNumber number, int64_t redraw) const override;
};

// What it suggests for trial `number` of a job; where that breaks a constraint, a random draw.
Configuration SobolConfiguration(const SearchSpec& spec, const SearchSpace& space, TrialNumber number);

}  // namespace winnow
