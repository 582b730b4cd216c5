#pragma once

#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// What is wrong with `cluster` and `scheduling`, but for the range of cluster.nodes (ValidateSearch) and for
// whether any worker could hold it (server/engine/feasible.h).
std::vector<Violation> CheckCluster(const v1::TuningJobSpec& spec);

}  // namespace winnow
