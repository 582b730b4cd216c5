#pragma once

#include <string>

#include "scheduler/space/types.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The sampler and the pruner of a job, with all defaults filled in.
struct Strategy {
  v1::Strategy name = v1::STRATEGY_UNSPECIFIED;  // the strategy that stands for the pair; UNSPECIFIED: none
  SamplerSettings sampler;                       // without grid_points
  PrunerSettings pruner;
};

// The strategy of the spec, or the default one, changed by `sampler`, `pruner` and `hyperband`. Where the
// spec names no strategy, a sampler is combined with the NONE pruner, and a pruner with the GP sampler.
Strategy StrategyOf(const v1::TuningJobSpec& spec);

// How often each configuration is trained; 0: the job has no repeats.
int64_t RepeatsOf(const v1::TuningJobSpec& spec);

// How far the built-in trainer trains a trial that is not stopped, in rounds or epochs: the static number,
// the largest tuned one, or the trainer's default. 0: not known, which is so for all other trainers.
int64_t OwnEndOf(const v1::TuningJobSpec& spec);

// The kinds as job files name them.
std::string KindName(SamplerKind kind);
std::string KindName(PrunerKind kind);

// "FREEZE_THAW", or "TPE sampler, ASHA pruner" where no strategy stands for the pair.
std::string StrategyName(SamplerKind sampler, PrunerKind pruner);

}  // namespace winnow
