#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"

namespace winnow::gbdt {

// Returns the quantile of each group of values over all ranks; NaN for a group without values (or without
// weight). group_of[i] is the group of values[i]; below 0: none. Without weights it is interpolated at alpha
// (n + 1) of n sorted values; with weights it is the least value that has at least the fraction alpha of the
// weight at or below it: both as in XGBoost's src/common/stats.h. Exact: independent of the distribution of
// values over ranks. At most 6 reductions, of 256 words per group, for every 8192 groups.
// REQUIRES: finite values and weights >= 0; weight is empty on all ranks or on none that has values.
absl::StatusOr<std::vector<float>> GroupQuantiles(double alpha, std::span<const float> values,
                                                  std::span<const int32_t> group_of, int groups,
                                                  bool weighted, std::span<const float> weight,
                                                  Communicator* communicator);

}  // namespace winnow::gbdt
