#include "spec/table_cell.h"

#include <algorithm>
#include <charconv>

namespace winnow {
namespace {

bool BeginsFormula(std::string_view text) {
  return !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos;
}

std::string_view BehindApostrophes(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of('\''), text.size()));
}

bool IsWrittenNumber(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string WithFormulaGuard(std::string_view text) {
  const bool guarded = BeginsFormula(BehindApostrophes(text)) && !IsWrittenNumber(text);
  return (guarded ? "'" : "") + std::string(text);
}

std::string WithoutFormulaGuard(std::string_view cell) {
  const bool guarded = cell.starts_with('\'') && BeginsFormula(BehindApostrophes(cell));
  return std::string(cell.substr(guarded ? 1 : 0));
}

}  // namespace winnow
