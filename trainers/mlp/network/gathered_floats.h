#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"

namespace winnow::mlp {

// Returns every rank's floats, of any number, concatenated by rank and so in row order. All ranks call it.
absl::StatusOr<std::vector<float>> GatherFloats(std::span<const float> mine, Communicator* ranks);

}  // namespace winnow::mlp
