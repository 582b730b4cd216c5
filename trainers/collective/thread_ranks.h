#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "trainers/collective/communicator.h"

namespace winnow {

// The ranks of one group within this process, for a thread each. `patience` is how long an operation waits
// without any other rank arriving at it. A communicator that is destroyed has left: the others' next
// operation is Unavailable. REQUIRES: size >= 1.
std::vector<std::unique_ptr<Communicator>> MakeThreadRanks(
    int size, std::chrono::milliseconds patience = std::chrono::minutes(10));

}  // namespace winnow
