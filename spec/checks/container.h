#pragma once

#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The violations in trainer.container, and in what a trainer in a container cannot have. Empty without one.
std::vector<Violation> CheckContainer(const v1::TuningJobSpec& spec);

}  // namespace winnow
