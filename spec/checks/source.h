#pragma once

#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Violations in the fields of the trainer about its code (source, exclude, setup) and about metrics that are
// read by keys (key, resource_key, metrics_file).
std::vector<Violation> CheckSource(const v1::TuningJobSpec& spec);

}  // namespace winnow
