#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/collective/tcp_ranks.h"

namespace winnow {

// What getenv() answers: null where the variable is not set.
using EnvironmentVariables = std::function<const char*(const char* name)>;

// `defaults` with what RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say, and a group that only the ranks of
// the same WINNOW_JOB, WINNOW_TRIAL and WINNOW_ATTEMPT have (docs/trainer-contract.md); patience from
// WINNOW_RENDEZVOUS_SECONDS and WINNOW_RANK_PATIENCE_SECONDS, where they are set. Where WORLD_SIZE is
// not set or 1, the others are not looked at. InvalidArgument names the variable, its value and what was
// expected.
absl::StatusOr<RankOptions> RankOptionsFrom(const EnvironmentVariables& environment,
                                            RankOptions defaults = {});

// This process's end of the group that its environment names, connected.
absl::StatusOr<std::unique_ptr<Communicator>> RanksFromEnvironment(const EnvironmentVariables& environment,
                                                                   RankOptions defaults = {});

}  // namespace winnow
