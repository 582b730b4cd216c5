#pragma once

#include <map>
#include <string>

#include "scheduler/space/space.h"

namespace winnow {

// A configuration from values that were found under a parameter's name, in another search.
struct Fit {
  Configuration configuration;
  std::string misfit;  // "": it fits; else why it does not: "with eta outside its range"
};

// Kinds are converted where nothing is lost by it: 3.0 and "3" are the integer 3, 3 is the category "3".
// Values of parameters that are not active, and of names that the space does not know, are passed over.
Fit FitTo(const SearchSpace& space, const std::map<std::string, Value>& values);

}  // namespace winnow
