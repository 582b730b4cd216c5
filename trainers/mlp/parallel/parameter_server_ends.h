#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "trainers/collective/messenger.h"
#include "trainers/mlp/network/crew.h"
#include "trainers/mlp/parallel/server_shard.h"
#include "trainers/mlp/profile/profile.h"

namespace winnow::mlp {

// Serves one epoch: applies every push once, on arrival, and answers it with the newest parameters when
// `staleness_bound` lets its worker continue (-1: at once); returns when each worker has pushed its last.
// Records spans of updates as thread `profile_thread`. Errors are the Messenger's; Internal for an unexpected
// message.
absl::Status ServeEpoch(Messenger* messenger, int64_t staleness_bound, ServerShard* shard, Profile* profile,
                        int profile_thread);

// A worker's connection to all servers.
class ParameterClient {
 public:
  // `runs`: the part of the parameters that each rank serves.
  ParameterClient(Messenger* messenger, std::vector<Part> runs)
      : messenger_(messenger), runs_(std::move(runs)), versions_(runs_.size()) {}

  // Sets the version of all servers, at the beginning of an epoch.
  void BeginEpoch(int64_t version) { versions_.assign(versions_.size(), version); }

  // Sends each server its part of the gradient, computed at the last Pull's parameters.
  absl::Status Push(int64_t step, int64_t epoch_steps, bool last, std::span<const float> gradient);

  // Waits for the answers to the last Push. Not after an epoch's last.
  absl::Status Pull(std::span<float> parameters);

 private:
  Messenger* const messenger_;
  const std::vector<Part> runs_;
  std::vector<int64_t> versions_;
};

}  // namespace winnow::mlp
