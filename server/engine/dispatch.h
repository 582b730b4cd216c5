#pragma once

#include "server/engine/artifacts.h"
#include "server/engine/attempts.h"
#include "server/engine/jobs.h"
#include "server/engine/recorder.h"
#include "server/engine/workers.h"

namespace winnow {

// Gives free slots to the running jobs: each time to the one that comes first (scheduler/fair_share.h) and
// has work. When its gang finds no room, but would if others finished, workers are kept for it
// (scheduler/reservation.h), and it comes first among its priority from then on; others go on outside of
// them. So small gangs fill what is free, and cannot starve a large one. Workers are kept for one gang at a
// time.
void Dispatch(Jobs& jobs, Workers& workers, Attempts& attempts, Artifacts& artifacts, Recorder& recorder);

}  // namespace winnow
