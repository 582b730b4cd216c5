#pragma once

#include "scheduler/samplers/sampler.h"

namespace winnow {

// Uniform on the unit cube; depends on the job's seed and the trial's number only, so that any parallelism
// tries the same configurations.
class RandomSampler : public Sampler {
 public:
  Configuration Suggest(const JobState& state, TrialNumber number) const override;
};

// The same without a state.
Configuration RandomConfiguration(const SearchSpec& spec, TrialNumber number);

}  // namespace winnow
