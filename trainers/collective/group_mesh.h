#pragma once

#include <chrono>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/collective/socket.h"

namespace winnow {

// New connections, by rank, to all other ranks of the group, at the addresses that its own links use. Only
// who knows a random word that goes round in the group is let in; where all links stay on this machine,
// nothing listens beyond it. All ranks call it; an error is the group's, and final there. `patience` is how
// long the others may take to connect.
absl::StatusOr<std::vector<Socket>> ConnectAgain(Communicator* group, std::chrono::milliseconds patience);

}  // namespace winnow
