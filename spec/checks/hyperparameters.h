#pragma once

#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The violations in the names of hyperparameters, and in their values and ranges as far as a built-in trainer
// restricts them. ValidateSearch checks the ranges themselves.
std::vector<Violation> CheckHyperparameters(const v1::TuningJobSpec& spec);

}  // namespace winnow
