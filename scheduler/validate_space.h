#pragma once

#include <vector>

#include "scheduler/space/types.h"
#include "scheduler/validate.h"

namespace winnow {

// Everything that is wrong with the parameters, their conditions, the constraints and the initial
// configurations; also constraints that are never kept.
std::vector<Violation> ValidateSpace(const SearchSpec& spec);

}  // namespace winnow
