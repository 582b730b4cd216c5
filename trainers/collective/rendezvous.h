#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/socket.h"
#include "trainers/collective/tcp_ranks.h"

namespace winnow {

// Connects each rank with each: rank 0 listens at the master's address until all others have told it where
// they listen, tells everyone, and closes its port; then each rank connects to those below it. `listener` is
// rank 0's, not open if it is still to be made. Answers the connections by rank; errors as ConnectRanks.
// REQUIRES: options.size > 1.
absl::StatusOr<std::vector<Socket>> Rendezvous(const RankOptions& options, Socket listener);

}  // namespace winnow
