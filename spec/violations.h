#pragma once

#include <vector>

#include "scheduler/validate.h"

namespace winnow {

// Adds what a later check found, except about fields that are already said to be wrong, their parts or their
// wholes, or what they depend on.
void AddUnrelated(const std::vector<Violation>& found, std::vector<Violation>* violations);

}  // namespace winnow
