#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainers/collective/communicator.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"
#include "trainers/mlp/model/checkpoint.h"

namespace winnow::mlp {

// The newest checkpoint of `folder` that a training with these hyperparameters, of `target` epochs, can go on
// from; its data are for the caller to compare. nullopt if there is none, or `folder` is "". Why one was
// passed over is added to *warnings.
std::optional<MlpCheckpoint> FindCheckpoint(const std::string& folder, const MlpParameters& parameters,
                                            int64_t target, std::vector<std::string>* warnings);

// Rank 0's becomes everyone's. All ranks call it.
absl::Status ShareCheckpoint(std::optional<MlpCheckpoint>* checkpoint, Communicator* ranks);

}  // namespace winnow::mlp
