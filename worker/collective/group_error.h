#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace winnow {

// The errors of a group, in the same words whatever carries its operations.

// `reason` with "rank 2: " before it.
absl::Status OfRank(int rank, const absl::Status& reason);

// Unavailable: "rank 2 is gone: <why>".
absl::Status IsGone(int rank, std::string_view why);

// DeadlineExceeded: "rank 2 stands still: nothing from it for 10 s in <operation>".
absl::Status StandsStill(int rank, std::string_view operation, std::chrono::milliseconds patience);

// DataLoss: "rank 2 sends what is no message".
absl::Status SendsGarbage(int rank);

// Internal: the ranks called different operations, or the same with different sizes. The
// lower rank comes first, so that both say the same.
absl::Status OperationsDiffer(int rank_a, std::string_view a, int rank_b, std::string_view b);

}  // namespace winnow
