#pragma once

#include <cstdint>
#include <functional>

#include "scheduler/space/types.h"
#include "scheduler/state/facts.h"

namespace winnow {

using CurveFunction = std::function<double(const Configuration&, int64_t resource)>;

// A job that minimises over the unit square, every trial of one unit.
SearchSpec BowlJob(SamplerKind sampler, int64_t max_trials);
// Its usual objective: the squared distance from (0.3, 0.6).
double Bowl(const Configuration& configuration, int64_t resource);

// The median over seeds 1 to 20 of the best objective, one trial at a time.
double MedianBest(SearchSpec spec, const CurveFunction& objective);

// Twenty trials are finished; of the eight that are then suggested before any of them ends, the smallest and
// the largest distance of two.
struct Spread {
  double nearest = 1, farthest = 0;
};
Spread SpreadOfBatch(const SearchSpec& spec, const CurveFunction& objective);

// What is suggested first for a job of BowlJob that is started with thirty results of an earlier one.
Suggested FirstAfterEarlier(const SearchSpec& spec);

}  // namespace winnow
