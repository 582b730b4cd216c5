#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/collective/tcp_ranks.h"

namespace winnow {

// getenv()'s result: null if the variable is not set.
using EnvironmentVariables = std::function<const char*(const char* name)>;

// Returns `defaults` with the values of RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and a group that only
// ranks of the same WINNOW_JOB, WINNOW_TRIAL and WINNOW_ATTEMPT have (docs/trainer-contract.md); patience
// from WINNOW_RENDEZVOUS_SECONDS and WINNOW_RANK_PATIENCE_SECONDS, if set. If WORLD_SIZE is not set or 1,
// ignores the others. InvalidArgument names the variable, its value and what was expected.
absl::StatusOr<RankOptions> RankOptionsFrom(const EnvironmentVariables& environment,
                                            RankOptions defaults = {});

// Connects this process's end of the group that its environment describes.
absl::StatusOr<std::unique_ptr<Communicator>> RanksFromEnvironment(const EnvironmentVariables& environment,
                                                                   RankOptions defaults = {});

}  // namespace winnow
