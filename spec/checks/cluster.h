#pragma once

#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The violations in `cluster` and `scheduling`. ValidateSearch checks the range of cluster.nodes, and
// server/engine/feasible.h whether any worker has room for a rank.
std::vector<Violation> CheckCluster(const v1::TuningJobSpec& spec);

}  // namespace winnow
