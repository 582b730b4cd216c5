#include "cli/commands/ignore_rules.h"

#include "tests/catch.h"

namespace winnow::cli {
namespace {

bool LeavesOut(std::string_view patterns, std::string_view path, bool is_folder = false) {
  IgnoreRules rules;
  rules.AddLines(patterns);
  return rules.LeavesOut(path, is_folder);
}

}  // namespace

TEST_CASE("a pattern without a slash matches a name at any depth, one with a slash from the root") {
  CHECK(LeavesOut("*.pt", "a.pt"));
  CHECK(LeavesOut("*.pt", "runs/7/a.pt"));
  CHECK_FALSE(LeavesOut("*.pt", "a.pth"));
  CHECK(LeavesOut("/data", "data", true));
  CHECK_FALSE(LeavesOut("/data", "src/data", true));
  CHECK(LeavesOut("docs/*.md", "docs/a.md"));
  CHECK_FALSE(LeavesOut("docs/*.md", "docs/inner/a.md"));
}

TEST_CASE("a pattern with a slash at its end matches folders alone") {
  CHECK(LeavesOut("build/", "build", true));
  CHECK(LeavesOut("build/", "a/build", true));
  CHECK_FALSE(LeavesOut("build/", "build", false));
}

TEST_CASE("two stars match any folders") {
  CHECK(LeavesOut("**/logs", "a/b/logs", true));
  CHECK(LeavesOut("a/**/c", "a/c"));
  CHECK(LeavesOut("a/**/c", "a/x/y/c"));
  CHECK(LeavesOut("a/**", "a/x"));
  CHECK_FALSE(LeavesOut("a/**", "a", true));
}

TEST_CASE("the last pattern that matches counts, and comments and blanks are none") {
  CHECK_FALSE(LeavesOut("*.txt\n!keep.txt\n", "keep.txt"));
  CHECK(LeavesOut("!keep.txt\n*.txt\n", "keep.txt"));
  CHECK(LeavesOut("# notes\n\n*.txt  \r\n", "a.txt"));
  CHECK_FALSE(LeavesOut("# notes\n\n/\n", "# notes"));
  CHECK(LeavesOut("[ab]?", "b1"));
}

TEST_CASE("a byte order mark, as some editors write it, is no part of the first pattern") {
  const std::string mark = "\xef\xbb\xbf";
  CHECK(LeavesOut(mark + "data/\n*.txt\n", "data", true));
}

TEST_CASE("a pattern of many stars takes no longer than others") {
  std::string pattern, path = "a";
  for (int i = 0; i < 200; ++i) {
    pattern += "**/a/";
    path += "/a";
  }
  CHECK_FALSE(LeavesOut(pattern + "b", path));
}

}  // namespace winnow::cli
