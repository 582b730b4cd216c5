#pragma once

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"

namespace winnow {

// Whether row `row` of data that are split by (seed, validation_fraction) is a validation row.
bool RowValidates(uint64_t seed, int64_t row, double validation_fraction);

// Parts `all` into training (first) and validation (second) rows, each in file order. Whether row i validates
// depends on (seed, first_row + i) alone, so adding rows at the end moves none; of data with groups, whole
// groups move, by their first row. The parts' first_row is 0: across ranks it is the caller's to set. The
// share is `validation_fraction` in expectation. InvalidArgument unless 0 < validation_fraction < 1 and both
// parts get a row.
absl::StatusOr<std::pair<DataSet, DataSet>> SplitByFraction(DataSet all, double validation_fraction,
                                                            uint64_t seed);

}  // namespace winnow
