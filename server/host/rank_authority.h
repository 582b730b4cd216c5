#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// Makes the credentials of the ranks of an attempt, by rank: a new authority, whose key nobody keeps, and a
// certificate and a key for each rank, valid for a day from `now` on. Nothing is written. INTERNAL: OpenSSL
// fails.
absl::StatusOr<std::vector<v1::RankCredentials>> IssueRankCredentials(const std::string& job, int64_t trial,
                                                                      int64_t attempt, int32_t ranks,
                                                                      std::time_t now = std::time(nullptr));

}  // namespace winnow
