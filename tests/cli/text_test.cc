#include "cli/output/text.h"

#include "tests/catch.h"

namespace winnow::cli {

TEST_CASE("Text: width counts columns, not bytes", "[cli]") {
  CHECK(DisplayWidth("") == 0);
  CHECK(DisplayWidth("eta") == 3);
  CHECK(DisplayWidth("größe") == 5);
  CHECK(DisplayWidth("e\u0301") == 1);
  CHECK(DisplayWidth("学习率") == 6);
  CHECK(DisplayWidth("\x1b[32mgood\x1b[0m") == 4);
  CHECK(DisplayWidth("\xff\xfe") == 2);
}

TEST_CASE("Text: what a trainer printed cannot move the cursor", "[cli]") {
  CHECK(Clean("a\x1b[2Jb\r\nc\td") == "a [2Jb  c d");
  CHECK(Clean("broken \xc3( and \xed\xa0\x80") == "broken \uFFFD( and \uFFFD\uFFFD\uFFFD");
  CHECK(Clean("\xc2\x9b"
              "31m") == " 31m");
  CHECK(Clean("学习率 ünverändert") == "学习率 ünverändert");
}

TEST_CASE("Text: fitting cuts at a character and keeps colours closed", "[cli]") {
  CHECK(Fit("abcdef", 6) == "abcdef");
  CHECK(Fit("abcdef", 4) == "abc…");
  CHECK(Fit("学习率", 4) == "学…");
  CHECK(Fit("\x1b[32mabcdef\x1b[0m", 3) == "\x1b[32mab…\x1b[0m");
  CHECK(Fit("abc", 0).empty());
}

}  // namespace winnow::cli
