#pragma once

#include <string>
#include <string_view>

namespace winnow {

// Returns the line of a failed program's standard error that gives the cause: the exception of a Python
// traceback, otherwise the last meaningful line. Skips blank lines, rulers, carets, warnings and progress
// bars, unless there is nothing else. Trimmed, at most 500 bytes; empty: no such line.
std::string FindCause(std::string_view words);

}  // namespace winnow
