#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/collective/socket.h"

namespace winnow {

struct RankOptions {
  int rank = 0;
  int size = 1;
  std::string master_address = "127.0.0.1";  // of rank 0's machine, a name or an address
  int master_port = 0;                       // where rank 0 listens until all ranks have come
  // Identifies the group, such as the attempt of a trial; at most 127 bytes, the same on all ranks. Ranks
  // with another value are rejected.
  std::string group;
  std::shared_ptr<const RankIdentity> identity = nullptr;  // for TLS; null: the ranks talk in plain text
  std::chrono::milliseconds rendezvous_patience = std::chrono::minutes(5);  // for all ranks to come
  std::chrono::milliseconds patience = std::chrono::minutes(10);  // for a silent rank in an operation
};

// Connects all ranks of a group with each other over TCP (IPv4). If the master's address is a loopback
// address, nothing listens beyond this machine. Groups may use the same port one after the other: a rank that
// finds another group there waits for its turn.
// Errors: InvalidArgument (ranks disagree about the group's size, two have one rank, a name is too long),
// DeadlineExceeded (names the missing ranks, and over TLS whom a rank has refused), Unavailable (a rank came
// and went, or has refused this rank's certificate, or shows one that is refused).
absl::StatusOr<std::unique_ptr<Communicator>> ConnectRanks(const RankOptions& options);

// ConnectRanks for rank 0 with an existing listener.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectRanks(const RankOptions& options, Socket listener);

// getenv()'s result: null if the variable is not set.
using EnvironmentVariables = std::function<const char*(const char* name)>;

// Returns `defaults` with the values of RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and a group that only
// ranks of the same WINNOW_JOB, WINNOW_TRIAL and WINNOW_ATTEMPT have (docs/trainer-contract.md); patience
// from WINNOW_RENDEZVOUS_SECONDS and WINNOW_RANK_PATIENCE_SECONDS, if set; TLS with the credentials in the
// folder WINNOW_RANK_CREDENTIALS, if set (FailedPrecondition names what is wrong with them). If WORLD_SIZE is
// not set or 1, ignores the others. InvalidArgument names the variable, its value and what was expected.
absl::StatusOr<RankOptions> RankOptionsFrom(const EnvironmentVariables& environment,
                                            RankOptions defaults = {});

// Connects this process's end of the group that its environment describes.
absl::StatusOr<std::unique_ptr<Communicator>> RanksFromEnvironment(const EnvironmentVariables& environment,
                                                                   RankOptions defaults = {});

}  // namespace winnow
