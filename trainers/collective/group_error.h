#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace winnow {

// The errors of a group, in the same words for every transport.

// Returns the rank named by an error of the first four functions below; absent: another status.
std::optional<int> RankToBlame(const absl::Status& status);

// Returns `reason` with "rank 2: " before it; unchanged if it already names a rank, so that forwarded errors
// keep the words of the first.
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
