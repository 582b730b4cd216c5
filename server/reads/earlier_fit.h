#pragma once

#include <map>
#include <string>

#include "scheduler/space/space.h"

namespace winnow {

// A configuration made from the values of another search's parameters, matched by name.
struct Fit {
  Configuration configuration;
  std::string misfit;  // "": it fits; else why it does not: "with eta outside its range"
};

// Converts kinds if that loses nothing: 3.0 and "3" are the integer 3, 3 and 3.0 are the category "3", and
// what is nearly a discrete value, or an end of a continuous range, is that. Ignores values of inactive
// parameters, and of names that the space does not have.
Fit FitTo(const SearchSpace& space, const std::map<std::string, Value>& values);

}  // namespace winnow
