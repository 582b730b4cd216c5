#pragma once

#include <string>

#include "scheduler/facts.h"

namespace winnow {

// The fact as one plain English sentence for users. `metric` is the objective's name.
std::string FactText(const Fact& fact, const std::string& metric);

}  // namespace winnow
