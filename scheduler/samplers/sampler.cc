#include "scheduler/samplers/sampler.h"

#include "scheduler/samplers/grid.h"
#include "scheduler/samplers/random.h"
#include "scheduler/samplers/sobol.h"

namespace winnow {

Suggestion Sampler::Suggest(const JobState&, TrialNumber, Memo&) const { return {}; }

const Sampler& SamplerOf(const SearchSpec& spec) {
  static const RandomSampler random;
  static const SobolSampler sobol;
  static const GridSampler grid;
  switch (spec.sampler.kind) {
    case SamplerKind::kSobol:
      return sobol;
    case SamplerKind::kGrid:
      return grid;
    default:
      return random;
  }
}

}  // namespace winnow
