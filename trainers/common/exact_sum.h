#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"

namespace winnow {

using Int128 = __int128;
using UInt128 = unsigned __int128;

// Sums of real numbers over all ranks whose bits depend neither on the order of the numbers nor on which rank
// holds which: each list is summed in integers of one scale, that of its largest magnitude over all ranks, of
// which a number may lose 2^-61. A list that holds a NaN sums to NaN, one that holds an infinity to infinity.
// Two reductions. All ranks must call, with as many lists.
absl::StatusOr<std::vector<double>> ExactSums(std::initializer_list<std::span<const double>> lists,
                                              Communicator* communicator);

// Each number becomes its sum over all ranks, modulo 2^128.
absl::Status SumOverRanks(std::span<UInt128> numbers, Communicator* communicator);

}  // namespace winnow
