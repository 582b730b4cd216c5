#pragma once

#include <string>
#include <string_view>

namespace winnow {

// Text cells of the tables that Winnow writes and reads back. A spreadsheet takes a cell that begins with = + - @, a tab or
// a carriage return for a formula, so such text, unless it is a number, is written with an apostrophe before it. Text that
// already begins with apostrophes and goes on so gets one more, so that reading takes off exactly what writing put on.
std::string WithFormulaGuard(std::string_view text);
std::string WithoutFormulaGuard(std::string_view cell);

}  // namespace winnow
