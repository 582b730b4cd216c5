#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/collective/socket.h"
#include "trainers/collective/tcp_ranks.h"

namespace winnow {

// Connects rank options.rank with those whose sockets are not open yet: it connects to the ranks below it, at
// their endpoints, and accepts those above it at its own listener. Disconnects peers of another group. All
// ranks of the group call it.
// Errors: Unavailable (a rank cannot be reached, or came and went), DeadlineExceeded (names the missing
// ranks), or the error with which a rank gave up.
absl::Status ConnectMesh(const RankOptions& options, std::span<const Endpoint> endpoints,
                         const Socket& listener, Deadline deadline, std::vector<Socket>* sockets);

// Returns the ranks from `first` on whose sockets are not open.
std::vector<int> MissingRanks(std::span<const Socket> sockets, int first);

// DeadlineExceeded: "ranks 1, 3 of 4 did not come within 300 s". `refused`: who was not let in, and why; "":
// nobody.
absl::Status DidNotCome(const RankOptions& options, const std::vector<int>& missing,
                        const std::string& refused);

// Opens new connections to all other ranks of the group, by rank, at the addresses of its own links. Only
// peers that know a random word sent within the group are accepted; if all links stay on this machine,
// nothing listens beyond it. All ranks call it; an error is the group's, and final there. `patience` is how
// long the others may take to connect.
absl::StatusOr<std::vector<Socket>> ConnectAgain(Communicator* group, std::chrono::milliseconds patience);

}  // namespace winnow
