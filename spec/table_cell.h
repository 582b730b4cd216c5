#pragma once

#include <string>
#include <string_view>

namespace winnow {

// Text cells of the tables that Winnow writes and reads back. A spreadsheet treats a cell that begins with
// = + - @, a tab or a carriage return as a formula. Such text gets an apostrophe in front unless it is a
// number, and so does such text behind apostrophes, so that reading removes exactly what writing added.
std::string WithFormulaGuard(std::string_view text);
std::string WithoutFormulaGuard(std::string_view cell);

}  // namespace winnow
