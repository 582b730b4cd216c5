#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace winnow {

// The errors of a group, in the same words whatever carries its operations.

// The rank that one of the first four below names; absent: the status is none of these.
std::optional<int> RankToBlame(const absl::Status& status);

// `reason` with "rank 2: " before it; as it is where it names a rank already, so that who hears it at second hand
// reads what the first said.
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
