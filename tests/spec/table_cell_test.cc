#include "spec/table_cell.h"

#include <string>
#include <vector>

#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE(
    "Table cells: what a spreadsheet would compute begins with an apostrophe, and numbers and other text do "
    "not",
    "[spec]") {
  for (const char* formula : {"=1+1", "+SUM(A1)", "-x", "@cmd", "\tx", "\rx", "-", "+1 2", "'=x"}) {
    INFO(formula);
    CHECK(WithFormulaGuard(formula) == "'" + std::string(formula));
  }
  for (const char* plain : {"", "relu", "-1", "+1", "-1e-5", "+0.5", "-inf", "'", "'x", "1-2", "a=b"}) {
    INFO(plain);
    CHECK(WithFormulaGuard(plain) == plain);
  }
}

TEST_CASE("Table cells: every text comes back as it was", "[spec]") {
  const std::string letters = "'=-+1x";
  std::vector<std::string> texts = {""};
  for (size_t i = 0; i < texts.size() && texts[i].size() < 4; ++i) {
    for (const char c : letters) texts.push_back(texts[i] + c);
  }
  for (const std::string& text : texts) {
    INFO(text);
    CHECK(WithoutFormulaGuard(WithFormulaGuard(text)) == text);
  }
}

}  // namespace
}  // namespace winnow
