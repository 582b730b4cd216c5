#pragma once

#include <cstdint>

#include "bench/search/families.h"
#include "bench/search/strategies.h"
#include "scheduler/space/types.h"

namespace winnow {

// The job that searches a family with a strategy: its hyperparameters, max_resource and seed, without limits.
SearchSpec JobOf(const Family& family, const Pair& strategy, uint64_t seed);

}  // namespace winnow
