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

// Returns the newest checkpoint of `folder` from which a training with these hyperparameters, of `target`
// epochs, can continue; the caller compares its data. nullopt if there is none, or `folder` is "". Adds the
// reasons for skipped ones to *warnings.
std::optional<MlpCheckpoint> FindCheckpoint(const std::string& folder, const MlpParameters& parameters,
                                            int64_t target, std::vector<std::string>* warnings);

// Sends rank 0's to all ranks. All ranks call it.
absl::Status ShareCheckpoint(std::optional<MlpCheckpoint>* checkpoint, Communicator* ranks);

}  // namespace winnow::mlp
