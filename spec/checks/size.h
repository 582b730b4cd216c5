#pragma once

#include <cstddef>
#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

inline constexpr size_t kMostSpecBytes = 1 << 20;

// The violations of the limits on the spec's bytes, the lengths of its lists and the sum of the lengths of
// its expressions. A spec without them is small enough for all other checks. Takes time linear in the spec's
// size.
std::vector<Violation> CheckSize(const v1::TuningJobSpec& spec);

}  // namespace winnow
