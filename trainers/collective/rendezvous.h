#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/socket.h"
#include "trainers/collective/tcp_ranks.h"

namespace winnow {

// Connects all ranks with each other: rank 0 listens at the master's address until all others have sent their
// own endpoints, sends all endpoints to everyone, and closes its port; then each rank connects to those below
// it. `listener` is rank 0's; if not open, it is made here. Returns the connections by rank; errors as
// ConnectRanks. REQUIRES: options.size > 1.
absl::StatusOr<std::vector<Socket>> Rendezvous(const RankOptions& options, Socket listener);

}  // namespace winnow
