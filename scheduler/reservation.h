#pragma once

#include <set>
#include <string>
#include <vector>

#include "scheduler/placement.h"

namespace winnow {

// Workers on which nothing is started, so that a gang that waits will find room.
using Reservation = std::set<std::string>;

// Which workers to keep for a gang that has no room now, so that others may be placed on all the rest.
//
// The rule. How long trials run is not known, so the set that is free soonest is taken to be the one of which
// fewest ranks are occupied: of workers that can reach each other, those with most room for the gang's ranks
// now come first, until all of them would hold the gang if they were empty. What is `kept` already stays,
// unless another set lacks fewer ranks, or it would not hold the gang any more. Since nothing starts on the
// set, what it lacks falls as trials end, and never rises; a change of the set lets it fall at once, so there
// are at most as many changes as the gang has ranks. Hence it finds room as long as trials end, whatever
// others have to do.
//
// `free`: what all workers have left; `whole`: the same workers, did they hold nothing. Empty: even these
// would not hold the gang. Deterministic: ties by worker id.
Reservation Reserve(const std::vector<WorkerRoom>& free, const std::vector<WorkerRoom>& whole,
                    const GangRequest& gang, const Reservation& kept);

// The rooms without those of reserved workers.
std::vector<WorkerRoom> Unreserved(const std::vector<WorkerRoom>& rooms, const Reservation& reserved);

// The same rooms for ranks that need no GPU, while workers are reserved for a gang that waits for GPUs: on
// its workers they may use what is left beside the slots, processors and memory of as many of its ranks as
// the worker holds when it is empty. So what the gang lacks does not rise, and the rest does not idle.
std::vector<WorkerRoom> BesideGpuGang(const std::vector<WorkerRoom>& rooms,
                                      const std::vector<WorkerRoom>& whole, const Reservation& reserved,
                                      const GangRequest& gang);

}  // namespace winnow
