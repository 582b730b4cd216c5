#pragma once

#include <vector>

#include "scheduler/validate.h"

namespace winnow {

// Adds the violations that a later check found, except those of fields for which `violations` already has
// one, of their parts, of the messages that hold them, and of fields that depend on them.
void AddUnrelated(const std::vector<Violation>& found, std::vector<Violation>* violations);

}  // namespace winnow
