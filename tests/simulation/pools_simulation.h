#pragma once

#include <cstdint>
#include <string>

namespace winnow {

// Plays pools, jobs and engines that are slow, refuse, preempt, lose workers and forget, in virtual time,
// with PlanPools deciding. Returns the first broken promise; "": all were kept.
//
// The promises. No pool ever has more nodes than max_nodes, nor more allocations queued than max_queued.
// Nothing is submitted that what is free or coming would hold, while a pool pauses, or for a job that cannot
// pay. Nothing that trains is given back, and nothing below min_nodes. Once the engines behave, every gang
// that could ever be held is trained, and then every pool shrinks to its minimum.
std::string PlayPools(uint64_t seed);

}  // namespace winnow
