#pragma once

#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Part of CheckSpec (spec/check.h): names, and for a built-in trainer the values it takes. Ranges themselves
// are ValidateSearch's.
std::vector<Violation> CheckHyperparameters(const v1::TuningJobSpec& spec);

}  // namespace winnow
