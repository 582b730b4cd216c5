#pragma once

#include <string>
#include <string_view>

namespace winnow {

// Of what a failed program wrote to standard error, the line that says why: of a Python traceback the exception, else the
// last line that says something. Passed over are blank lines, rulers and carets, warnings and progress bars, unless
// there is nothing else. Without blanks around it, at most 500 bytes; empty: no line says anything.
std::string FindCause(std::string_view words);

}  // namespace winnow
