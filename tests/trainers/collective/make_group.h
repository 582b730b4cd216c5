#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "trainers/collective/communicator.h"

namespace winnow {

// Every way to connect ranks, by name; the tests below hold for all of them.
std::vector<std::string> GroupKinds();

// Returns the ranks of a new group of this kind, all in this process.
std::vector<std::unique_ptr<Communicator>> MakeGroup(
    const std::string& kind, int size, std::chrono::milliseconds patience = std::chrono::minutes(1));

}  // namespace winnow
