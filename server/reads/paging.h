#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

// Returns the page size of a request; for 0 `otherwise`. INVALID_ARGUMENT outside 0..most.
absl::StatusOr<int64_t> PageSize(int64_t asked, int64_t otherwise, int64_t most);

// A page token contains the beginning of the next page and the query (`kind`); other queries refuse it.
std::string MakePageToken(const std::string& kind, const std::vector<std::string>& parts);
// Empty for the first page.
absl::StatusOr<std::vector<std::string>> ReadPageToken(const std::string& token, const std::string& kind,
                                                       size_t parts);
// One part as a number; `otherwise` on the first page.
absl::StatusOr<int64_t> PageNumber(const std::vector<std::string>& parts, size_t index, int64_t otherwise);

}  // namespace winnow
