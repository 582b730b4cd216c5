#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"

namespace winnow {

// What a rank was started with, by name: "eta", "0.3".
using ToldThings = std::vector<std::pair<std::string, std::string>>;

// Checks that all ranks were started with the same values; otherwise they would train different models, or
// wait for each other in vain. FailedPrecondition, on all ranks, as "rank 1 was started with eta = 0.1, rank
// 0 with eta = 0.3: expected the same on all". All ranks call it.
absl::Status AgreeOnRequest(const ToldThings& told, Communicator* ranks);

// AgreeOnRequest for the data that ranks have read from `path`, identified by a fingerprint.
absl::Status AgreeOnData(const std::string& path, uint64_t fingerprint, Communicator* ranks);

// Whether `stop` is true on any rank. All ranks call it, and all get the same answer.
absl::StatusOr<bool> AnyoneStops(const std::atomic<bool>& stop, Communicator* ranks);

}  // namespace winnow
