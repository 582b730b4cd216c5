#pragma once

#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The spec's own, in their order, then the built-in trainer's portfolio if it is asked for: each of its
// configurations that differs from those before, numbers moved to the nearest end of their range; one whose
// text is none of a category's, or that breaks a constraint, is left out. `search` holds the space.
std::vector<Configuration> InitialConfigurations(const v1::TuningJobSpec& spec, const SearchSpec& search);

// What keeps the spec's own from being points of the space, but for constraints. REQUIRES the names of
// `search` are valid.
std::vector<Violation> CheckInitialConfigurations(const v1::TuningJobSpec& spec, const SearchSpec& search);

}  // namespace winnow
