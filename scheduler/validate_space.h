#pragma once

#include <vector>

#include "scheduler/space/types.h"
#include "scheduler/validate.h"

namespace winnow {

// All errors in the parameters, their conditions, the constraints and the initial configurations, including
// constraints that no configuration keeps; empty: valid.
std::vector<Violation> ValidateSpace(const SearchSpec& spec);

}  // namespace winnow
