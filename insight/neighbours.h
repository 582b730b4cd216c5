#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "insight/trial_columns.h"

namespace winnow {

// Returns the mean distance of two rows over the hyperparameters: along the axis; 1 between different
// categories or if only one row has the hyperparameter; 0 if neither has.
double Distance(const TrialColumns& columns, size_t a, size_t b);

// Returns the `limit` rows nearest to `row` with their distances, nearest first, ties by lower number.
std::vector<std::pair<double, uint32_t>> Nearest(const TrialColumns& columns, size_t row, size_t limit);

}  // namespace winnow
