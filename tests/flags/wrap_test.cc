#include "flags/wrap.h"

#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE("Wrap: lines are broken at blanks and no longer than asked, but for a longer word", "[flags]") {
  CHECK(Wrap("one two three four", 9) == "one two\nthree\nfour");
  CHECK(Wrap("one two three four", 13) == "one two three\nfour");
  CHECK(Wrap("a incomprehensibility b", 5) == "a\nincomprehensibility\nb");
  CHECK(Wrap("first line\nsecond", 40) == "first line\nsecond");
  CHECK(Wrap("größer größer", 13) == "größer größer");
  CHECK(Wrap("", 5).empty());
}

}  // namespace
}  // namespace winnow
