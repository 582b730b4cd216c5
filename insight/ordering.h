#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "insight/trial_columns.h"

namespace winnow {

// Returns rows `offset` to `offset` + `limit` of the marked ones, in the order `order_by`
// (QueryTrialsRequest): rows without a value are last, ties by number. INVALID_ARGUMENT: unknown order.
absl::StatusOr<std::vector<uint32_t>> OrderedRows(const TrialColumns& columns,
                                                  const std::vector<uint8_t>& marked,
                                                  const std::string& order_by, size_t offset, size_t limit);

}  // namespace winnow
