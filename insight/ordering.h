#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "insight/trial_columns.h"

namespace winnow {

// Rows `offset` to `offset` + `limit` of the marked ones, in the order that `order_by` names
// (QueryTrialsRequest): those without a value come last, ties by number. INVALID_ARGUMENT: there is no such
// order.
absl::StatusOr<std::vector<uint32_t>> OrderedRows(const TrialColumns& columns,
                                                  const std::vector<uint8_t>& marked,
                                                  const std::string& order_by, size_t offset, size_t limit);

}  // namespace winnow
