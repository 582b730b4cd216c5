#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "insight/trial_columns.h"

namespace winnow {

// Mean over the hyperparameters of how far the rows lie apart: on the axis; 1 between categories that differ
// and where only one of them has the hyperparameter, 0 where neither has.
double Distance(const TrialColumns& columns, size_t a, size_t b);

// The `limit` rows nearest to `row`, with their distances, nearest first, ties by lower number.
std::vector<std::pair<double, uint32_t>> Nearest(const TrialColumns& columns, size_t row, size_t limit);

}  // namespace winnow
