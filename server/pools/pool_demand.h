#pragma once

#include <vector>

#include "scheduler/pools.h"
#include "server/engine/engine.h"

namespace winnow {

// The gangs of all open jobs that wait and would start if there was room; the job that is served first comes
// first. Of trials that do not exist yet there are as many as the job's limits allow, which may be more than
// its pruner wants, but at most `most` of a job. REQUIRES free room was given out (Engine::Finish). Owner:
// the coordinator thread.
std::vector<GangDemand> DemandOf(Engine& engine, int64_t most);

// The workers that are present and may be given trials, with the allocation of each, from `allocations` by
// the worker's name: 0 if it is not there.
std::vector<PoolWorker> WorkersOf(Engine& engine, const std::map<std::string, int64_t>& allocations);

}  // namespace winnow
