#pragma once

#include <string>
#include <vector>

#include "scheduler/space/types.h"

namespace winnow {

// The highest resource level of a trial.
inline constexpr int64_t kMostResource = 1'000'000'000;
inline constexpr int64_t kMostTrialsOfJob = 1'000'000;
inline constexpr int64_t kMostUnitsOfJob = 1'000'000'000'000'000;  // over all trials

struct Violation {
  std::string field;        // path in the job file: parameters[2].continuous.min
  std::string description;  // the value and what was expected
};

// Everything that is wrong with the search space, the strategy and the limits; empty: valid.
std::vector<Violation> ValidateSearch(const SearchSpec& spec);

}  // namespace winnow
