#pragma once

#include "server/engine/artifacts.h"
#include "server/engine/attempts.h"
#include "server/engine/context.h"
#include "server/engine/jobs.h"
#include "server/engine/recorder.h"
#include "server/engine/workers.h"

namespace winnow {

// Gives free slots to the running jobs, each time to the first job (scheduler/fair_share.h) that has work. If
// its gang finds no room now but would once others finish, workers are reserved for it
// (scheduler/reservation.h), and it comes first among its priority from then on; other jobs use the other
// workers. So small gangs fill what is free and cannot starve a large one. One gang at a time has a
// reservation.
//
// No part starts on a worker that is expected to leave before its end (scheduler/placement.h).
//
// A trial whose program is suspended goes on where that is. If that worker has no free slot, other trials go
// first; if the program is gone, the trial starts from nothing.
//
// Free slots go to the project that has used least for its weight (ProjectClaim), within it to the first job.
// No trial starts that a quota forbids (ProjectBook). Where classes count, a job of a higher class for whose
// gang there is no room makes trials of lower classes stop, which are handed back and go on later; workers
// are reserved for it meanwhile, one gang at a time.
//
// Parts that are short beside the time until a worker has told the end of one and has the answer are placed
// ahead: a worker whose slots are all taken holds some more, and starts them by itself. They count as any
// other attempt in all limits. No other job with work for those slots is passed over.
void Dispatch(const Context& context, Jobs& jobs, Workers& workers, Attempts& attempts, Artifacts& artifacts,
              Recorder& recorder, ProjectBook& projects);

}  // namespace winnow
