#include "spec/placeholders.h"

#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE("Placeholders: found in order, blanks around a name do not count", "[spec]") {
  using Names = std::vector<std::string>;
  CHECK(Placeholders("--rate={{rate}}/{{ depth }}") == Names{"rate", "depth"});
  CHECK(Placeholders("plain {text} {{open").empty());
  CHECK(Placeholders("").empty());
}

TEST_CASE("Placeholders: replaced once, values are not searched again", "[spec]") {
  CHECK(ReplacePlaceholders("a{{x}}b{{ y }}c", {{"x", "{{y}}"}, {"y", "2"}}) == "a{{y}}b2c");
  CHECK(ReplacePlaceholders("{{unknown}} {{open", {{"open", "1"}}) == "{{unknown}} {{open");
}

}  // namespace
}  // namespace winnow
