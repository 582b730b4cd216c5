#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"

namespace winnow::mlp {

// Every rank's floats, as many as each has, by rank and so in the order of their rows. All ranks call it.
absl::StatusOr<std::vector<float>> GatherFloats(std::span<const float> mine, Communicator* ranks);

}  // namespace winnow::mlp
