#pragma once

#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Violations in where the data of channels is, and how it reaches the ranks: path, distribution, sha256,
// endpoint and mode.
std::vector<Violation> CheckChannels(const v1::TuningJobSpec& spec);

}  // namespace winnow
