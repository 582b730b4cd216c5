#pragma once

#include <map>
#include <string>

#include "scheduler/space/types.h"

namespace winnow {

// The strategies that the programs of this folder play, by the names that their output has.
struct Pair {
  SamplerKind sampler;
  PrunerKind pruner;
};

inline const std::map<std::string, Pair> kStrategies = {
    {"default", {SamplerKind::kGp, PrunerKind::kFreezeThaw}},
    {"random", {SamplerKind::kRandom, PrunerKind::kNone}},
    {"sobol", {SamplerKind::kSobol, PrunerKind::kNone}},
    {"bayesian", {SamplerKind::kGp, PrunerKind::kNone}},
    {"tpe", {SamplerKind::kTpe, PrunerKind::kNone}},
    {"hyperband", {SamplerKind::kSobol, PrunerKind::kHyperband}},
    {"asha", {SamplerKind::kSobol, PrunerKind::kAsha}},
    {"successive_halving", {SamplerKind::kSobol, PrunerKind::kSuccessiveHalving}},
    {"median", {SamplerKind::kSobol, PrunerKind::kMedian}},
    {"bohb", {SamplerKind::kTpe, PrunerKind::kHyperband}},
    {"gp_hyperband", {SamplerKind::kGp, PrunerKind::kHyperband}},
    {"gp_asha", {SamplerKind::kGp, PrunerKind::kAsha}},
};

// A strategy's sampler with the pruner of jobs with repeats.
inline Pair WithRepeats(const Pair& strategy) { return {strategy.sampler, PrunerKind::kPairedTest}; }

}  // namespace winnow
