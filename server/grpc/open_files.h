#pragma once

#include <cstddef>

namespace winnow {

// Raises this process's limit of open files to the allowed maximum; returns it.
size_t RaiseFileLimit();

}  // namespace winnow
