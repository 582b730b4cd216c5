#pragma once

#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Hyperparameters of mlp that do not go with the number of nodes. REQUIRES: the built-in trainer is mlp.
std::vector<Violation> CheckMlpRanks(const v1::TuningJobSpec& spec);

}  // namespace winnow
