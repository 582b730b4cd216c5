#pragma once

#include <string_view>

namespace winnow {

// For tests: kills this process (SIGKILL) at the point that the variable WINNOW_FAULT_POINT names, so that
// what a crash leaves there can be seen. Does nothing without the variable.
void FaultPoint(std::string_view name);

}  // namespace winnow
