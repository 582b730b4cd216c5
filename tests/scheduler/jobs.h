#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "scheduler/simulate.h"
#include "scheduler/space/types.h"

namespace winnow {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A Hyperband job over one real parameter "x" in [0, 1], to be maximised; every bracket runs to its end.
SearchSpec HyperbandJob(int64_t max_resource, int64_t reduction_factor, int64_t max_trials = 0);

// The same under RANDOM: every trial to `level`.
SearchSpec RandomJob(int64_t max_trials, int64_t level);

// Workers of one slot each; the objective is x, plus 0.01 of the level.
Simulation Slots(int workers);

// "27@1 9@3 3@9 1@27"
std::string Rungs(const BracketPlan& bracket);

// A job of any shape and its cluster, drawn from `number`: strategies, limits, failures, own ends, stops.
struct AnyJob {
  SearchSpec spec;
  Simulation simulation;
};
struct Strategy {
  SamplerKind sampler = SamplerKind::kRandom;
  PrunerKind pruner = PrunerKind::kNone;
};
// Every kind there is. A model's answers cost more than all else of a job: jobs of such strategies are small.
constexpr SamplerKind kSamplers[] = {SamplerKind::kRandom, SamplerKind::kSobol, SamplerKind::kGrid,
                                     SamplerKind::kGp, SamplerKind::kTpe};
constexpr PrunerKind kPruners[] = {PrunerKind::kNone,
                                   PrunerKind::kMedian,
                                   PrunerKind::kHyperband,
                                   PrunerKind::kAsha,
                                   PrunerKind::kSuccessiveHalving,
                                   PrunerKind::kLearningCurve,
                                   PrunerKind::kFreezeThaw,
                                   PrunerKind::kPairedTest,
                                   PrunerKind::kPbt};
bool AsksModel(const Strategy& strategy);
// Whether the pruner takes trials of that sampler.
bool GoTogether(const Strategy& strategy);

// Uses any strategy that asks no model, or the given one.
AnyJob DrawJob(uint64_t number, int slots, const std::optional<Strategy>& strategy = {});

// The same with two to four objectives or with metric constraints, or with both, by any strategy that takes
// them and asks no model, or the given one.
AnyJob DrawFrontJob(uint64_t number, int slots, const std::optional<Strategy>& strategy = {});

}  // namespace winnow
