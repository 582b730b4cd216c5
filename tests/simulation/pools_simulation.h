#pragma once

#include <cstdint>
#include <string>

namespace winnow {

// Plays pools, jobs and engines that are slow, refuse, preempt, lose workers, forget, limit what may be
// submitted and how long it runs, in virtual time, with PlanPools deciding. Workers leave before their time
// is over; jobs pay for what trains, and end without money. Returns the first broken promise; "": all were
// kept.
//
// The promises. No pool ever has more nodes than max_nodes, nor more allocations queued than max_queued.
// Nothing is submitted that what is free or coming would hold, while a pool pauses or was refused, or for a
// job that cannot pay. The gang that is served first gets nodes of the cheapest pool with room for it, if no
// workers that stay for long enough are free or coming. Nothing that trains is given back, and nothing below
// min_nodes. Once the engines behave, every gang that could ever be held is trained, and then every pool
// shrinks to its minimum.
std::string PlayPools(uint64_t seed);

}  // namespace winnow
