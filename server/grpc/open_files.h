#pragma once

#include <cstddef>

namespace winnow {

// Lets this process have as many files open as it may; how many that is.
size_t RaiseFileLimit();

}  // namespace winnow
