#pragma once

#include "server/cluster.h"
#include "server/jobs.h"

namespace winnow {

// Gives free slots to the running jobs: each time to the one that holds the fewest slots (then the older)
// and has work. When its gang does not fit now, but would if others finished, nothing else is placed, and it
// comes first from then on: so small gangs cannot starve a large one.
void Dispatch(Jobs& jobs, Cluster& cluster);

}  // namespace winnow
