#pragma once

#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// All violations in the spec, without a look at any file; empty: the spec is valid.
std::vector<Violation> CheckSpec(const v1::TuningJobSpec& spec);

}  // namespace winnow
