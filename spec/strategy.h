#pragma once

#include <string>

#include "scheduler/space/types.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// What searches, by what the user named: kinds and settings with all defaults filled in.
struct Strategy {
  v1::Strategy name = v1::STRATEGY_UNSPECIFIED;  // that the kinds below were taken from; UNSPECIFIED: none
  SamplerSettings sampler;                       // but for grid_points
  PrunerSettings pruner;
};

// The strategy of the spec, or the default one; `sampler`, `pruner` and `hyperband` in their places. A
// sampler or a pruner of a kind of its own, without a strategy, goes with the NONE pruner and the GP sampler.
Strategy StrategyOf(const v1::TuningJobSpec& spec);

// How far the built-in trainer trains a trial by itself: a number of rounds, the largest of a tuned one, or
// the trainer's default; 0: not known, as of every other trainer.
int64_t OwnEndOf(const v1::TuningJobSpec& spec);

// As job files name them.
std::string KindName(SamplerKind kind);
std::string KindName(PrunerKind kind);

// "FREEZE_THAW", or "TPE sampler, ASHA pruner" where no strategy stands for the pair.
std::string StrategyName(SamplerKind sampler, PrunerKind pruner);

}  // namespace winnow
