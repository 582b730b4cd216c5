#pragma once

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"

namespace winnow {

// Whether row `row` is a validation row in a split by (seed, validation_fraction).
bool RowValidates(uint64_t seed, int64_t row, double validation_fraction);

// Splits `all` into training (first) and validation (second) rows, each in file order. Whether row i is a
// validation row depends on (seed, first_row + i) alone, so rows added at the end move none. In data with
// groups, whole groups move, by their first row. The parts' first_row is 0: across ranks the caller sets it.
// The share is `validation_fraction` in expectation. A part may get no row: CheckParts. InvalidArgument
// unless 0 < validation_fraction < 1.
absl::StatusOr<std::pair<DataSet, DataSet>> SplitByFraction(DataSet all, double validation_fraction,
                                                            uint64_t seed);

// InvalidArgument unless both parts of a split have a row. The numbers of rows are those of all ranks.
absl::Status CheckParts(double validation_fraction, int64_t train_rows, int64_t validation_rows);

}  // namespace winnow
