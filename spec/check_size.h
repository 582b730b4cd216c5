#pragma once

#include <cstddef>
#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

inline constexpr size_t kMostSpecBytes = 1 << 20;

// Whether the spec is small enough for everything else to be looked at: its bytes, the lengths of its lists, and of its
// expressions in sum. Takes time in proportion to the spec, whatever it says.
std::vector<Violation> CheckSize(const v1::TuningJobSpec& spec);

}  // namespace winnow
