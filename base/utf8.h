#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace winnow {

// Returns the bytes of the UTF-8 character at the front of `text`; 0 if there is none (RFC 3629: overlong
// forms, surrogates and values above U+10FFFF are not characters).
size_t Utf8Length(std::string_view text);

// Returns the first `most` bytes at most, without a character of which they would have only a part.
std::string_view Utf8Prefix(std::string_view text, size_t most);

bool IsUtf8(std::string_view text);

// Returns the text with '?' for each byte that is no part of a UTF-8 character.
std::string ValidUtf8(std::string_view text);

}  // namespace winnow
