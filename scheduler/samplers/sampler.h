#pragma once

#include "scheduler/job_state.h"
#include "scheduler/types.h"

namespace winnow {

// Decides what to try next.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // The configuration of a trial that is about to be created: a function of the recorded facts and the
  // number.
  virtual Configuration Suggest(const JobState& state, TrialNumber number) const = 0;
};

const Sampler& SamplerOf(const SearchSpec& spec);

}  // namespace winnow
