#include "scheduler/samplers/sampler.h"

#include "scheduler/samplers/random.h"
#include "scheduler/samplers/sobol.h"

namespace winnow {

const Sampler& SamplerOf(const SearchSpec& spec) {
  static const RandomSampler random;
  static const SobolSampler sobol;
  if (spec.strategy == Strategy::kHyperband) return sobol;
  return random;
}

}  // namespace winnow
