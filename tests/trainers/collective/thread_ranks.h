#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "trainers/collective/communicator.h"

namespace winnow {

// The ranks of one group within this process, one per thread. `patience` is how long an operation waits while
// no other rank arrives at it. A destroyed communicator has left the group: the others' next operation is
// Unavailable. REQUIRES: size >= 1.
std::vector<std::unique_ptr<Communicator>> MakeThreadRanks(
    int size, std::chrono::milliseconds patience = std::chrono::minutes(10));

}  // namespace winnow
