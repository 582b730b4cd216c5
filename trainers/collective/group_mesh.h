#pragma once

#include <chrono>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/collective/socket.h"

namespace winnow {

// Opens new connections to all other ranks of the group, by rank, at the addresses of its own links. Only
// peers that know a random word sent within the group are accepted; if all links stay on this machine,
// nothing listens beyond it. All ranks call it; an error is the group's, and final there. `patience` is how
// long the others may take to connect.
absl::StatusOr<std::vector<Socket>> ConnectAgain(Communicator* group, std::chrono::milliseconds patience);

}  // namespace winnow
