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

// Returns sums of real numbers over all ranks whose bits depend neither on the order of the numbers nor on
// their distribution over ranks: each list is summed in integers with one scale, from its largest magnitude
// over all ranks; each number is exact to 2^-61 of that. A list with a NaN sums to NaN, one with an infinity
// to infinity. Two reductions. All ranks must call it with as many lists.
absl::StatusOr<std::vector<double>> ExactSums(std::initializer_list<std::span<const double>> lists,
                                              Communicator* communicator);

// Replaces each number by its sum over all ranks, modulo 2^128.
absl::Status SumOverRanks(std::span<UInt128> numbers, Communicator* communicator);

}  // namespace winnow
