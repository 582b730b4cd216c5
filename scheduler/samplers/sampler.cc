#include "scheduler/samplers/sampler.h"

#include <algorithm>

#include "scheduler/samplers/grid.h"
#include "scheduler/samplers/random.h"
#include "scheduler/samplers/sobol.h"
#include "scheduler/samplers/tpe.h"

namespace winnow {

Suggestion Sampler::Suggest(const JobState&, TrialNumber, Memo&) const { return {}; }

const Sampler& SamplerOf(const SearchSpec& spec) {
  static const RandomSampler random;
  static const SobolSampler sobol;
  static const GridSampler grid;
  static const TpeSampler tpe;
  switch (spec.sampler.kind) {
    case SamplerKind::kSobol:
      return sobol;
    case SamplerKind::kGrid:
      return grid;
    case SamplerKind::kTpe:
      return tpe;
    default:
      return random;
  }
}

int64_t StartupTrials(const SearchSpec& spec) {
  if (spec.sampler.startup_trials > 0) return spec.sampler.startup_trials;
  return std::clamp<int64_t>(static_cast<int64_t>(spec.parameters.size()) + 1, 4, 20);
}

}  // namespace winnow
