#include "base/utf8.h"

#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE("Utf8: the length of a character", "[base]") {
  CHECK(Utf8Length("ab") == 1);
  CHECK(Utf8Length("\xc3\xbc.") == 2);
  CHECK(Utf8Length("\xe2\x82\xac") == 3);
  CHECK(Utf8Length("\xed\x9f\xbf") == 3);  // U+D7FF
  CHECK(Utf8Length("\xf0\x9f\x98\x80") == 4);
  CHECK(Utf8Length("\xf4\x8f\xbf\xbf") == 4);  // U+10FFFF
}

TEST_CASE("Utf8: what is no character has length 0", "[base]") {
  CHECK(Utf8Length("") == 0);
  CHECK(Utf8Length("\x80") == 0);  // a continuation
  CHECK(Utf8Length("\xc3") == 0);  // cut short
  CHECK(Utf8Length("\xe2\x82") == 0);
  CHECK(Utf8Length("\xe2\x82z") == 0);
  CHECK(Utf8Length("\xc0\xaf") == 0);  // overlong
  CHECK(Utf8Length("\xe0\x80\xaf") == 0);
  CHECK(Utf8Length("\xf0\x80\x80\xaf") == 0);
  CHECK(Utf8Length("\xed\xa0\x80") == 0);      // a surrogate
  CHECK(Utf8Length("\xf4\x90\x80\x80") == 0);  // beyond U+10FFFF
  CHECK(Utf8Length("\xff") == 0);
}

TEST_CASE("Utf8: a prefix has whole characters", "[base]") {
  CHECK(Utf8Prefix("abc", 3) == "abc");
  CHECK(Utf8Prefix("abc", 2) == "ab");
  CHECK(Utf8Prefix("aé", 2) == "a");
  CHECK(Utf8Prefix("aé", 3) == "aé");
  CHECK(Utf8Prefix("a€", 3) == "a");
  CHECK(Utf8Prefix("€", 1) == "");
  CHECK(Utf8Prefix("", 0) == "");
}

TEST_CASE("Utf8: a text is UTF-8 if all of its bytes are parts of characters", "[base]") {
  for (const char* text : {"", "plain", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"}) CHECK(IsUtf8(text));
  for (const char* text : {"\xff", "a\xc3", "\xe2\x82 b", "\xed\xa0\x80"}) CHECK_FALSE(IsUtf8(text));
}

TEST_CASE("Utf8: bytes that are no part of a character become question marks", "[base]") {
  CHECK(ValidUtf8("plain") == "plain");
  CHECK(ValidUtf8("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80") ==
        "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
  CHECK(ValidUtf8("a\xff\xfe") == "a??");
  CHECK(ValidUtf8("\xc3") == "?");
  CHECK(ValidUtf8("\xe2\x82") == "??");
  CHECK(ValidUtf8("\xc0\xaf") == "??");
  CHECK(ValidUtf8("\xed\xa0\x80") == "???");
  CHECK(ValidUtf8("\xf4\x90\x80\x80") == "????");
}

}  // namespace
}  // namespace winnow
